package hostkey

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestVectorsOriginKeyT13T14 runs the cases of kind origin_key of every
// tdm_and_others.json below the folder that WAYLEAVE_VECTORS names.
func TestVectorsOriginKeyT13T14(t *testing.T) {
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	cases := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "tdm_and_others.json" {
			return err
		}
		cases += runOriginKeys(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cases == 0 {
		t.Fatalf("no case of kind origin_key in %s", dir)
	}
}

func runOriginKeys(t *testing.T, path string) (cases int) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			ID, About, Kind, URL string
			Expect               struct{ Origin, Key *string }
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, v := range file.Vectors {
		if v.Kind != "origin_key" {
			continue
		}
		cases++
		t.Run(v.ID, func(t *testing.T) {
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
		})
	}
	return cases
}
