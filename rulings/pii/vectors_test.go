package pii

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type vector struct {
	ID, Title, Policy string
	Crossing          struct {
		Response struct{ Type, Text string }
	}
	Expect struct {
		Observe struct {
			Categories []string
			Findings   int
			Class      string
			Gaps       []string
		}
	}
}

// TestVectorsO48 runs the screened texts of every policy.json below the folder
// that WAYLEAVE_VECTORS names, or below testdata/vectors, on which the detector
// is on and can run.
func TestVectorsO48(t *testing.T) {
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	count := 0
	for _, v := range readVectors(t, dir) {
		want := v.Expect.Observe
		if !strings.Contains(v.Policy, "pii: on") || v.Crossing.Response.Text == "" || want.Class == "service" || len(want.Gaps) > 0 {
			continue
		}
		count++
		t.Run(v.ID, func(t *testing.T) {
			findings, _ := Scan([]byte(v.Crossing.Response.Text))
			var categories []string
			for _, f := range findings {
				categories = append(categories, f.Category)
			}
			if want.Findings > 0 && len(findings) != want.Findings {
				t.Errorf("%s: %d findings, want %d", v.Title, len(findings), want.Findings)
			}
			slices.Sort(categories)
			slices.Sort(want.Categories)
			if diff := cmp.Diff(want.Categories, slices.Compact(categories), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v.Title, diff)
			}
		})
	}
	if count == 0 {
		t.Errorf("no case in %s", dir)
	}
}

func readVectors(t *testing.T, dir string) (vectors []vector) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "policy.json" {
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
			var id struct{ ID string }
			if err := json.Unmarshal(raw, &id); err != nil {
				return err
			}
			if !strings.HasPrefix(id.ID, "screen-") {
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
