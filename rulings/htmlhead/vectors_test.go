package htmlhead

import (
	"encoding/base64"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, About, Page string
	HTML            string
	HTMLB64         string `json:"html_b64"`
	HTMLParts       []struct {
		S string
		N int
	} `json:"html_parts"`
	ContentType string `json:"content_type"`
	Expect      struct {
		Licences, Metas *[]string
		Inline, Unread  *int
		Seen            *bool
	}
}

func (v vector) body(t *testing.T) string {
	decoded, err := base64.StdEncoding.DecodeString(v.HTMLB64)
	if err != nil {
		t.Fatal(err)
	}
	body := v.HTML + string(decoded)
	for _, p := range v.HTMLParts {
		body += strings.Repeat(p.S, p.N)
	}
	return body
}

// TestVectorsT66ToT68 runs the cases of kind html in every tdm_and_others.json
// below the folder that WAYLEAVE_VECTORS names, or below testdata/vectors. The
// other kinds are those of other packages.
func TestVectorsT66ToT68(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("html")) {
		t.Run(v.ID, func(t *testing.T) { runHTML(t, v) })
	}
}

func runHTML(t *testing.T, v vector) {
	page, err := url.Parse(v.Page)
	if err != nil {
		t.Fatal(err)
	}
	kind := KindOf(v.ContentType)
	seen := kind == HTML || kind == XHTML
	h := &Head{}
	if seen {
		o := Options{Page: page, Tokens: []string{"wayleave"}, XML: kind == XHTML}
		if h, err = Read(strings.NewReader(v.body(t)), o); err != nil {
			t.Fatal(err)
		}
		checkRestore(t, h, o)
	}
	var metas []string
	for _, m := range h.Metas {
		metas = append(metas, m.Name+"="+m.Content)
	}
	compare(t, v, "licences", v.Expect.Licences, urlsOf(h))
	compare(t, v, "metas", v.Expect.Metas, metas)
	compare(t, v, "inline", v.Expect.Inline, len(scriptsOf(h)))
	compare(t, v, "unread", v.Expect.Unread, h.Unread)
	compare(t, v, "seen", v.Expect.Seen, seen && !h.UTF16)
}

func compare[T any](t *testing.T, v vector, member string, want *T, got T) {
	t.Helper()
	if want == nil {
		return
	}
	if diff := cmp.Diff(*want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", v.About, member, diff)
	}
}
