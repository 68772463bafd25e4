package recording

import (
	"errors"
	"os"
	"testing"

	"github.com/wayleave/wayleave/internal/vectors"
)

// A vector is a case of policy.json, with what a recording has to do with.
type vector struct {
	ID       string
	Crossing struct {
		URL, Execution string
		Recorded       bool
	}
}

// TestVectorsO64AndO67 runs the cases of replay in every policy.json below the
// folder that WAYLEAVE_VECTORS names, or below testdata/vectors: whether there is
// an exchange to serve. What is ruled of it is the proxy's test's matter.
func TestVectorsO64AndO67(t *testing.T) {
	count := 0
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "policy.json", nil) {
		if v.Crossing.Execution != "replay" {
			continue
		}
		count++
		t.Run(v.ID, func(t *testing.T) {
			w, dir := newWriter(t)
			if v.Crossing.Recorded {
				record(w, page(v.Crossing.URL), html(), "text")
			}
			_, err := w.Close()
			must(t, err)
			s, err := open(t, dir).Take("GET", v.Crossing.URL, "")
			if errors.Is(err, ErrNotRecorded) == v.Crossing.Recorded {
				t.Errorf("%v, and recorded is %v", err, v.Crossing.Recorded)
			}
			if err == nil {
				s.Body.Close()
			}
		})
	}
	if count == 0 {
		t.Fatal("no cases of replay")
	}
}
