package wayleave_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// TestEveryPromiseNamesATestThatHoldsIt keeps docs/failure-policy.md from
// promising what nothing checks. A clause is a list item with a number in bold
// and, behind "Held by:", tests as `directory.TestName`.
func TestEveryPromiseNamesATestThatHoldsIt(t *testing.T) {
	tests := testNames(t)
	clauses := listItems(read(t, "docs/failure-policy.md"))
	if len(clauses) < 10 {
		t.Fatalf("found only %d clauses", len(clauses))
	}
	number := regexp.MustCompile(`^\*\*(F\d+)\*\* `)
	named := regexp.MustCompile("`([^`]+)`")
	seen := map[string]bool{}
	for _, clause := range clauses {
		m := number.FindStringSubmatch(clause)
		if m == nil {
			t.Errorf("a clause without a number: %.60s", clause)
			continue
		}
		if seen[m[1]] {
			t.Errorf("%s stands there twice", m[1])
		}
		seen[m[1]] = true
		_, held, ok := strings.Cut(clause, "Held by:")
		names := named.FindAllStringSubmatch(held, -1)
		if !ok || len(names) == 0 {
			t.Errorf("%s names no test that holds it", m[1])
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("%s is held by %s, which does not exist", m[1], name[1])
			}
		}
	}
}

// listItems returns the items of the lists in a Markdown text, each as one line.
func listItems(text string) []string {
	var items []string
	open := false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, " \n")
		switch item, begins := strings.CutPrefix(l, "* "); {
		case begins:
			items, open = append(items, item), true
		case open && strings.HasPrefix(l, "  "):
			items[len(items)-1] += " " + strings.TrimSpace(l)
		default:
			open = false
		}
	}
	return items
}

// testNames returns every test of the module as `directory.TestName`, those of
// the root by their name alone, and every script as `directory.TestScripts/name`.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	scripts, err := filepath.Glob("*/*/testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts found (%v)", err)
	}
	for _, s := range scripts {
		dir, name, _ := strings.Cut(filepath.ToSlash(s), "/testdata/script/")
		names[dir+".TestScripts/"+strings.TrimSuffix(name, ".txtar")] = true
	}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				names[strings.TrimPrefix(f.dir()+"."+fn.Name.Name, "..")] = true
			}
		}
	}
	return names
}

// The type of every refusal is the URL of one of these pages.
func TestEveryReasonHasItsPageAndEveryPageItsReason(t *testing.T) {
	const dir = "docs/refusals"
	pages := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" {
			pages[strings.TrimSuffix(e.Name(), ".md")] = true
		}
	}
	index := read(t, path.Join(dir, "README.md"))
	for _, reason := range rulings.Reasons() {
		code, facts := string(reason), reason.Facts()
		if !pages[code] {
			t.Errorf("reason %s has no page %s/%[1]s.md", code, dir)
			continue
		}
		delete(pages, code)
		page := read(t, path.Join(dir, code+".md"))
		for _, want := range []string{
			fmt.Sprintf("# `%s`\n\n%s.\n", code, facts.Title),
			fmt.Sprintf("| %d | %s | `%s` |", facts.Status, facts.Whose, facts.ProxyError),
			"\n## What happened\n", "\n## Whose term it is\n", "\n## What the agent should do\n", "\n## What the operator can look at\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q", code, want)
			}
		}
		if retries := strings.Contains(page, "`retry_at`"); facts.RetryAfter > 0 && !retries {
			t.Errorf("the page of %s does not say that the refusal has a retry_at", code)
		}
		if row := fmt.Sprintf("| [`%s`](%[1]s.md) | %d | %s |", code, facts.Status, facts.Title); !strings.Contains(index, row) {
			t.Errorf("the list of refusals lacks the row %q", row)
		}
	}
	for code := range pages {
		t.Errorf("%s/%s.md is the page of no reason", dir, code)
	}
}

// markdown returns the text of every Markdown file by its path.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			docs[filepath.ToSlash(name)] = read(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for name, text := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(path.Join(path.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
}

// A line number is wrong after the next change above it.
func TestDocsCiteNoLineNumbers(t *testing.T) {
	cited := regexp.MustCompile(`\w+\.go:\d+`)
	for name, text := range markdown(t) {
		if m := cited.FindString(text); m != "" {
			t.Errorf("%s cites %s; name the function", name, m)
		}
	}
}

// Every package stands in the README's table, and the table names no other.
func TestTheReadmeSaysWhereEveryPackageIs(t *testing.T) {
	packages := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.isTest() && f.dir() != "." {
			packages[f.dir()] = true
		}
	}
	row := regexp.MustCompile("(?m)^\\| \\[?`([a-z0-9/]+)`")
	for _, m := range row.FindAllStringSubmatch(read(t, "README.md"), -1) {
		if info, err := os.Stat(m[1]); err != nil || !info.IsDir() {
			t.Errorf("README.md lists %s, which is no directory", m[1])
		}
		delete(packages, m[1])
	}
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		t.Errorf("README.md does not say what is in %s", p)
	}
}
