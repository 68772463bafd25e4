package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Head is what tells whose a vector is.
type Head struct {
	ID   string
	Kind string // empty in the files whose vectors are all of one kind
}

// OfKind picks the vectors of these kinds.
func OfKind(kinds ...string) func(Head) bool {
	return func(h Head) bool { return slices.Contains(kinds, h.Kind) }
}

// Group picks the vectors whose IDs are a group's name and a number: screen-17 is
// of the group screen.
func Group(names ...string) func(Head) bool {
	return func(h Head) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(h.ID, name+"-") })
	}
}

// Read returns the picked vectors, or all if pick is nil, of every file called name
// in dir or below it; there must be some. An empty dir is testdata/vectors. Tests
// give the folder that WAYLEAVE_VECTORS names, so that vectors from elsewhere can
// be run.
func Read[V any](t testing.TB, dir, name string, pick func(Head) bool) []V {
	t.Helper()
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	all, err := below[V](dir, name, pick)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func below[V any](dir, name string, pick func(Head) bool) (all []V, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != name {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		picked, err := parse[V](data, pick)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, picked...)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no vectors of %s to run in %s", name, dir)
	}
	return all, err
}

// parse reads a vector as V only when it is picked: the same member has other forms
// in the vectors of others.
func parse[V any](data []byte, pick func(Head) bool) (picked []V, err error) {
	var file struct{ Vectors []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, raw := range file.Vectors {
		var h Head
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
		if h.ID == "" {
			return nil, fmt.Errorf("vector %d has no ID", i)
		}
		if seen[h.ID] {
			return nil, fmt.Errorf("two vectors are called %s", h.ID)
		}
		seen[h.ID] = true
		if pick != nil && !pick(h) {
			continue
		}
		var v V
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("%s: %w", h.ID, err)
		}
		picked = append(picked, v)
	}
	return picked, nil
}
