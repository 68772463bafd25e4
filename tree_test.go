package wayleave_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the path that stands before every import of ours.
const module = "github.com/wayleave/wayleave"

// A goFile is one parsed Go file of the module.
type goFile struct {
	path string // from the root, with slashes
	ast  *ast.File
}

func (f goFile) dir() string  { return path.Dir(f.path) }
func (f goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// line is the line of pos in its file.
func line(pos token.Pos) int { return fileSet.Position(pos).Line }

var fileSet = token.NewFileSet()

// parseTree parses every Go file of the module, whatever its build constraints.
var parseTree = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || isModule(name)) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(base) != ".go" {
			return nil
		}
		tree, err := parser.ParseFile(fileSet, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{filepath.ToSlash(name), tree})
		return nil
	})
	return files, err
})

// isModule reports whether dir is the root of a module of its own, as the
// pinned tools are.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// goFiles returns the parsed module. A tree without code would let every test
// over it pass.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files", len(files))
	}
	return files
}

// read returns the content of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
