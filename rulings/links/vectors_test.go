package links

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
	ID, About, Page string
	Fields          []string
	FieldsB64       []string `json:"fields_b64"`
	FieldsParts     []struct {
		S string
		N int
	} `json:"fields_parts"`
	Expect struct {
		Licences *[]string
		Unread   *int
	}
}

// lines are the field lines of v, whichever way they are spelled.
func (v vector) lines(t *testing.T) []string {
	lines := v.Fields
	for _, octets := range v.FieldsB64 {
		decoded, err := base64.StdEncoding.DecodeString(octets)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(decoded))
	}
	if v.FieldsParts != nil {
		var b strings.Builder
		for _, p := range v.FieldsParts {
			b.WriteString(strings.Repeat(p.S, p.N))
		}
		lines = append(lines, b.String())
	}
	return lines
}

// TestVectorsT59ToT64 runs every link.json below the folder that WAYLEAVE_VECTORS
// names, or below testdata/vectors.
func TestVectorsT59ToT64(t *testing.T) {
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	vectors := readVectors(t, dir)
	if len(vectors) == 0 {
		t.Fatalf("no case in %s", dir)
	}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			page, err := url.Parse(v.Page)
			if err != nil {
				t.Fatal(err)
			}
			got := Licences(page, v.lines(t))
			if want := v.Expect.Licences; want != nil {
				if diff := cmp.Diff(*want, got.Licences, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: licences (-want +got):\n%s", v.About, diff)
				}
			}
			if want := v.Expect.Unread; want != nil && *want != len(got.Unread) {
				t.Errorf("%s: unread %q, want %d", v.About, got.Unread, *want)
			}
		})
	}
}

func readVectors(t *testing.T, dir string) (vectors []vector) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "link.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file struct{ Vectors []vector }
		if err := json.Unmarshal(data, &file); err != nil {
			return err
		}
		vectors = append(vectors, file.Vectors...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}
