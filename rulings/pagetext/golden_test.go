package pagetext

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files of the present rule text")

// TestO50_BehaviourCannotChangeWithoutTheDigest compares the text of pages with
// the files in the folder that is named after the digest of the rule text. When it
// fails, also on account of a new version of x/net, the rule text has to say what
// is new; the folder of the text before goes, and -update writes that of the new
// text.
func TestO50_BehaviourCannotChangeWithoutTheDigest(t *testing.T) {
	dir := filepath.Join("testdata", "golden", fmt.Sprintf("%x", Digest()))
	got := behaviour(t)
	if *update {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatalf("has the rule text changed? %v", err)
		}
		for name, text := range got {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("the rule text has changed: %v", err)
	}
	want := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[e.Name()] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("under the same rule text (-want +got):\n%s", diff)
	}
	if others, err := filepath.Glob(filepath.Join("testdata", "golden", "*")); err != nil || len(others) != 1 {
		t.Errorf("%d folders, %v", len(others), err)
	}
}

// behaviour has the text of each page, and of very many small ones a hash.
func behaviour(t *testing.T) map[string]string {
	pages, err := filepath.Glob(filepath.Join("testdata", "pages", "*.html"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	texts := make(map[string]string)
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(name), ".html")+".txt"] = string(Extract(page))
	}
	r := rand.New(rand.NewPCG(50, 2))
	all := sha256.New()
	for _, seed := range seeds {
		fmt.Fprintf(all, "%q\n", Extract([]byte(seed)))
	}
	for range 20_000 {
		fmt.Fprintf(all, "%q\n", Extract([]byte(madeUp(r, r.IntN(30)))))
	}
	texts["more.txt"] = fmt.Sprintf("%x\n", all.Sum(nil))
	return texts
}

// madeUp makes a page up of what the rules speak of and what nearly is.
func madeUp(r *rand.Rand, n int) string {
	bits := []string{"a", "word", " ", "\n", "\u00a0", "\x00", "\xff", "é", "<", ">", "/", "</", "<!--", "-->", "<![CDATA[", "]]>", "<!doctype x>", "&amp;", "&lt", "&#", "128;", "'", `"`, "=", "<?xml ?>", "<br>", "</br>"}
	names := []string{"p", "div", "b", "td", "head", "body", "html", "title", "script", "style", "noscript", "template", "svg", "math", "desc", "foreignObject", "mi", "textarea", "iframe", "noframes", "meta", "G", "A"}
	var b strings.Builder
	for range n {
		switch r.IntN(3) {
		case 0:
			b.WriteString(bits[r.IntN(len(bits))])
		case 1:
			b.WriteString("<" + names[r.IntN(len(names))] + []string{">", "/>", " x=y>", " "}[r.IntN(4)])
		default:
			b.WriteString("</" + names[r.IntN(len(names))] + ">")
		}
	}
	return b.String()
}

func TestO50_MadeUpPages(t *testing.T) {
	r := rand.New(rand.NewPCG(50, 3))
	for range 5000 {
		checkText(t, []byte(madeUp(r, r.IntN(40))))
	}
}
