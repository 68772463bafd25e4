package vectors

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const two = `{"about": {}, "vectors": [{"id": "a-1", "kind": "k", "n": 1}, {"id": "b-1", "n": "other form", "more": []}]}`

type vector struct {
	ID string
	N  int
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVectorsOfOthersAreNotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.json"), two)
	write(t, filepath.Join(dir, "sub", "x.json"), two)
	write(t, filepath.Join(dir, "y.json"), "not JSON")
	want := []vector{{"a-1", 1}, {"a-1", 1}}
	for name, pick := range map[string]func(Head) bool{"kind": OfKind("k"), "group": Group("z", "a")} {
		if got := Read[vector](t, dir, "x.json", pick); !slices.Equal(got, want) {
			t.Errorf("by %s: %v, want %v", name, got, want)
		}
	}
	if got := Read[map[string]any](t, dir, "x.json", nil); len(got) != 4 {
		t.Errorf("%d vectors without a pick, want 4", len(got))
	}
}

func TestVectorsThatCouldPassUnrunAreFaults(t *testing.T) {
	for _, c := range []struct {
		what, text, fault string
		pick              func(Head) bool
	}{
		{"no file of the name", "", "no vectors of x.json", nil},
		{"no vectors", `{"about": {}, "vectors": []}`, "no vectors of x.json", nil},
		{"none picked", two, "no vectors of x.json", OfKind("j")},
		{"no ID", `{"vectors": [{"kind": "k"}]}`, "vector 0 has no ID", nil},
		{"an ID twice, one of them of others", `{"vectors": [{"id": "a", "kind": "k"}, {"id": "a"}]}`, "two vectors are called a", OfKind("k")},
		{"another form", two, "x.json: b-1: json: cannot unmarshal string", nil},
		{"cut short", `{"vectors": [`, "x.json: unexpected end", nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			if c.text != "" {
				write(t, filepath.Join(dir, "x.json"), c.text)
			}
			if _, err := below[vector](dir, "x.json", c.pick); err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v, want %s", err, c.fault)
			}
		})
	}
	if _, err := below[vector](filepath.Join(t.TempDir(), "none"), "x.json", nil); err == nil {
		t.Error("a folder that is missing is no fault")
	}
}
