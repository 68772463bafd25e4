package htmlhead

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type vector struct {
	ID, Kind, About, Page string
	HTML                  string
	HTMLB64               string `json:"html_b64"`
	HTMLParts             []struct {
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
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	count := 0
	for _, v := range readVectors(t, dir) {
		if v.Kind != "html" {
			continue
		}
		count++
		t.Run(v.ID, func(t *testing.T) { runHTML(t, v) })
	}
	if count == 0 {
		t.Fatalf("no case in %s", dir)
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
	compare(t, v, "licences", v.Expect.Licences, h.Licences)
	compare(t, v, "metas", v.Expect.Metas, metas)
	compare(t, v, "inline", v.Expect.Inline, len(h.Scripts))
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

func readVectors(t *testing.T, dir string) (vectors []vector) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "tdm_and_others.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file struct{ Vectors []json.RawMessage }
		if err := json.Unmarshal(data, &file); err != nil {
			return err
		}
		for _, raw := range file.Vectors {
			var kind struct{ Kind string }
			if err := json.Unmarshal(raw, &kind); err != nil {
				return err
			}
			if kind.Kind != "html" {
				continue // its members have other forms
			}
			var v vector
			if err := json.Unmarshal(raw, &v); err != nil {
				return err
			}
			vectors = append(vectors, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}
