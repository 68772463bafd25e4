package wayleave_test

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A layer is a part of the tree and what of the module it may import. A path
// that ends in /... stands for itself and all below it.
type layer struct {
	of  string
	may []string
	why string
}

// parsers turn bytes into values.
var parsers = []string{
	"rulings/robots", "rulings/rsl", "rulings/contentsignal", "rulings/contentusage", "rulings/links", "rulings/tdm",
	"rulings/htmlhead", "rulings/robotstag", "rulings/payment", "rulings/injection", "rulings/pii", "rulings/pagetext", "rulings/bodytype",
}

// layers are the import directions; the first that fits a package holds. Imports
// point down the flow of a request only, so that each part can be read, tested
// and replaced with nothing above it in sight.
var layers = []layer{
	{of: "cmd/...", may: []string{"..."}, why: "commands wire everything together"},
	{
		of: "proxy/...", may: []string{"rulings/...", "backoff/...", "allowances", "recording", "evidence", "certs", "internal/..."},
		why: "the exchange uses the rulings, the pacing, the evidence and the certificates, and nobody of these knows of it",
	},
	{
		of: "admin/...", may: []string{"rulings/...", "backoff/...", "evidence/...", "internal/..."},
		why: "the desk reads what was ruled and recorded; from proxy or certs it could carry requests or reach the CA's key",
	},
	{of: "evidence/runs/...", may: []string{"internal/..."}, why: "the attempt ledger is trusted with outcomes, so it depends on nothing that produces them"},
	{
		of: "evidence", may: []string{"rulings", "rulings/robots", "internal/..."},
		why: "a record holds a ruling and the parser's decisions in it; who makes or verifies rulings hands the decision in",
	},
	{of: "backoff/...", may: []string{"backoff/...", "internal/..."}, why: "pacing knows hosts and times, not terms"},
	{of: "allowances/...", may: []string{"internal/..."}, why: "the ledger counts money, whatever it is spent on"},
	{of: "recording/...", may: []string{"internal/..."}, why: "a recording is bytes and their sums, whoever asks for them"},
	{of: "certs/...", may: []string{"internal/..."}, why: "whatever certs imports can come near the CA's key"},
	{
		of: "rulings/terms/...", may: slices.Concat([]string{"rulings", "rulings/terms/...", "internal/..."}, parsers),
		why: "the book reaches pace, transport and log through interfaces of its own",
	},
	{
		of: "rulings", may: slices.Concat([]string{"internal/hostkey", "internal/money"}, parsers),
		why: "a decision is a pure function: anybody can recompute it from stored bytes",
	},
	{of: "rulings/...", may: nil, why: "a parser turns bytes into a value and depends on nothing of ours"},
	{of: "internal/...", may: []string{"internal/..."}, why: "internal packages are the leaves everything stands on"},
	{of: "...", may: nil, why: "a new package needs a layer in imports_test.go"},
}

// within reports whether pkg fits pattern.
func within(pattern, pkg string) bool {
	prefix, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return pkg == pattern
	}
	return prefix == "" || pkg == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(pkg, prefix)
}

func layerOf(pkg string) layer {
	return layers[slices.IndexFunc(layers, func(l layer) bool { return within(l.of, pkg) })]
}

// imports calls each with every import of the code that ships.
func imports(t *testing.T, each func(f goFile, imported string)) {
	t.Helper()
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			each(f, imported)
		}
	}
}

func TestImportsPointDownTheFlow(t *testing.T) {
	ours := 0
	imports(t, func(f goFile, imported string) {
		dep, ok := strings.CutPrefix(imported, module+"/")
		if !ok {
			return
		}
		ours++
		l := layerOf(f.dir())
		if !slices.ContainsFunc(l.may, func(pattern string) bool { return within(pattern, dep) }) {
			t.Errorf("%s imports %s, but %s may import only %q of the module: %s", f.path, dep, l.of, l.may, l.why)
		}
	})
	if ours == 0 {
		t.Error("no import of the module was seen")
	}
}

// reserved are dependencies that belong to one place.
var reserved = []struct {
	dep, place string // place is a package pattern or a file
	why        string
}{
	{"github.com/elazarl/goproxy/...", "proxy/connect.go", "its pipelines differ in errors and framing; one file holds its types, so that the rest cannot depend on them"},
	{"go.yaml.in/yaml/...", "cmd/wayleave", "the configuration file is known only to the command"},
	{"github.com/spf13/...", "cmd/wayleave", "flags are known only to the command"},
	{"flag", "cmd/wayleave", "flags are known only to the command"},
	{"github.com/go-chi/chi/...", "admin/...", "the admin API alone has routes"},
	{"github.com/temoto/robotstxt", "nowhere", "it fails too many RFC 9309 cases to rule by; it is the second reader of a differential test"},
	{"os/exec", "cmd/wayleave", "an edge starts no process; the command run does"},
	{"github.com/redis/...", "backoff/valkey", "one store of several talks to a server"},
	{"unsafe", "nowhere", "nothing here is worth it"},
}

func TestDependenciesStayInTheirPlace(t *testing.T) {
	imports(t, func(f goFile, imported string) {
		for _, r := range reserved {
			if within(r.dep, imported) && !within(r.place, f.dir()) && f.path != r.place {
				t.Errorf("%s imports %s, which belongs in %s: %s", f.path, imported, r.place, r.why)
			}
		}
	})
}

// A decision that could reach a file, a socket or a clock of its own could not
// be recomputed.
func TestDecisionsAndParsersDoNoIO(t *testing.T) {
	reach := []string{"os/...", "net", "net/http/httputil", "io/fs", "io/ioutil", "syscall/...", "golang.org/x/sys/...", "log/...", "math/rand/...", "crypto/rand"}
	imports(t, func(f goFile, imported string) {
		if dir := f.dir(); dir != "rulings" && !slices.Contains(parsers, dir) {
			return
		}
		if slices.ContainsFunc(reach, func(p string) bool { return within(p, imported) }) {
			t.Errorf("%s imports %s: a decision is a function of its arguments, and a parser of its bytes", f.path, imported)
		}
	})
	calls(t, func(f goFile, call string, at int) {
		if dir := f.dir(); dir != "rulings" && !slices.Contains(parsers, dir) {
			return
		}
		if slices.Contains([]string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After"}, call) {
			t.Errorf("%s:%d calls %s: a decision reads no clock", f.path, at, call)
		}
	})
}

func TestTheEnvironmentIsKnownOnlyToTheCommand(t *testing.T) {
	calls(t, func(f goFile, call string, at int) {
		if slices.Contains([]string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv"}, call) && !within("cmd/...", f.dir()) {
			t.Errorf("%s:%d calls %s: a package is told what it needs by its Options", f.path, at, call)
		}
	})
}

// calls calls each with every mention of package.Name in the code that ships.
func calls(t *testing.T, each func(f goFile, call string, at int)) {
	t.Helper()
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				each(f, pkg.Name+"."+sel.Sel.Name, line(sel.Pos()))
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			said[f.dir()] = said[f.dir()] || f.ast.Doc.Text() != "" && path.Base(f.path) == "doc.go"
		}
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("package %s has no doc.go with a comment that says what it is", dir)
		}
	}
}
