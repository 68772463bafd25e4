package injection

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// documents calls each with every text file below dir, what gzip packed unpacked. It
// counts them.
func documents(t testing.TB, dir string, each func(name string, text []byte)) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text := unpacked(raw); isText(text) {
			n++
			each(name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// unpacked returns what gzip packed, or raw as it is.
func unpacked(raw []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return raw
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return raw
	}
	return text
}

// isText is the test that O41 names for a body without a type.
func isText(raw []byte) bool {
	return bytes.IndexByte(raw[:min(len(raw), 512)], 0) < 0 && utf8.Valid(raw)
}

func TestO47_NoTextOfTheGoDistributionMatches(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	octets := 0
	n := documents(t, strings.TrimSpace(string(root)), func(name string, text []byte) {
		octets += len(text)
		if found, _ := Scan(text); found != nil {
			t.Errorf("%s: %v: %q", name, found, text[found[0].Start:found[0].End])
		}
	})
	if n < 1000 {
		t.Errorf("only %d files", n)
	}
	t.Logf("%d files, %d octets", n, octets)
}

// BenchmarkDocuments counts the matches in the documents of a machine, below DOCUMENTS
// or /usr/share/doc, for the figure that O47 asks for before a release.
func BenchmarkDocuments(b *testing.B) {
	dir := os.Getenv("DOCUMENTS")
	if dir == "" {
		dir = "/usr/share/doc"
	}
	for b.Loop() {
		matching, octets := 0, 0
		n := documents(b, dir, func(name string, text []byte) {
			octets += len(text)
			found, _ := Scan(text)
			for _, x := range found {
				b.Logf("%s: %v: %q", name, x, text[x.Start:x.End])
			}
			if found != nil {
				matching++
			}
		})
		b.ReportMetric(float64(n), "files")
		b.ReportMetric(float64(matching), "matching")
		b.ReportMetric(float64(octets), "octets")
	}
}
