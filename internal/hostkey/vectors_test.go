package hostkey

import (
	"net/url"
	"os"
	"testing"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, About, URL string
	Expect         struct{ Origin, Key *string }
}

// TestVectorsOriginKeyT13T14 runs the cases of kind origin_key of every
// tdm_and_others.json below the folder that WAYLEAVE_VECTORS names.
func TestVectorsOriginKeyT13T14(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("origin_key")) {
		t.Run(v.ID, v.run)
	}
}

func (v vector) run(t *testing.T) {
	u, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseOrigin(u.Scheme, u.Host)
	if err != nil {
		t.Fatal(err)
	}
	// The vectors write every origin with its port.
	if got := o.Scheme + "://" + o.Authority(); v.Expect.Origin != nil && got != *v.Expect.Origin {
		t.Errorf("%s: origin %s, want %s", v.About, got, *v.Expect.Origin)
	}
	if got := o.FileKey(); v.Expect.Key != nil && got != *v.Expect.Key {
		t.Errorf("%s: key %s, want %s", v.About, got, *v.Expect.Key)
	}
}
