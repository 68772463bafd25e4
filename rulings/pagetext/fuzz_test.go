package pagetext

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

var seeds = []string{
	"", "<", "</", "<!--", "a<p", "<p>a</p><p>b", "<head><title>a</title>b", "<?xml?><title/>a", "\ufeff\ufeff", "a<svg><desc><svg></desc><p>b", "<math><mi><svg><![CDATA[</svg>]]>", "<script><!--<script></script>-->a", "&nGt;&#128;\xff\x00",
	"<template><svg></template>a</template>", "<title>\x00</title><textarea>\x00\xff", "<body><plaintext><p>&amp;", "</br><title>a", "a\u00a0\u2028 b\r\n", "<annotation-xml><foreignobjectx><table a=b/>",
}

// checkText holds what callers rely on for any page.
func checkText(t *testing.T, page []byte) {
	t.Helper()
	before := bytes.Clone(page)
	text := Extract(page)
	switch {
	case !bytes.Equal(before, page):
		t.Fatalf("%q became %q", before, page)
	case text == nil || !bytes.Equal(text, Extract(page)):
		t.Fatalf("%q: twice, and not the same", page)
	case !bytes.Equal(text, byTokens(page)):
		t.Fatalf("%q: %q, and with the tokenizer alone %q", page, text, byTokens(page))
	case len(text) > MaxGrowth*len(page):
		t.Fatalf("%d bytes of %d", len(text), len(page))
	case !utf8.Valid(text):
		t.Fatalf("%q is no UTF-8", text)
	case len(text) == 0:
		return
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" || strings.TrimSpace(line) != line || strings.Contains(line, "  ") {
			t.Fatalf("the line %q of %q", line, page)
		}
		if i := strings.IndexFunc(line, func(r rune) bool { return r == 0 || r != ' ' && unicode.IsSpace(r) }); i >= 0 {
			t.Fatalf("white space at %d of %q", i, line)
		}
	}
}

func FuzzExtract(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range slices.Concat(seeds, nearlyPlain) {
		f.Add([]byte(s))
	}
	f.Fuzz(checkText)
}

// secondReading takes the text from the tree that x/net's parser builds, which
// follows the standard where a page has faults.
func secondReading(t *testing.T, page []byte) string {
	root, err := html.Parse(bytes.NewReader(bytes.TrimPrefix(page, []byte("\ufeff"))))
	if err != nil {
		t.Fatal(err)
	}
	var l lines
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			l.add([]byte(n.Data))
		}
		if n.Type == html.ElementNode && (n.Namespace == "svg" || n.Namespace == "" && (traits[n.Data]&drop != 0 || n.Data == "head")) {
			return
		}
		starts := n.Type == html.ElementNode && n.Namespace == "" && traits[n.Data]&block != 0
		if starts {
			l.end()
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if starts {
			l.end()
		}
	}
	walk(root)
	return string(l.out)
}

// wellNested makes a page up of elements that end where they should.
func wellNested(r *rand.Rand, b *strings.Builder, depth int, inSVG bool) {
	names := []string{"div", "p", "b", "i", "a", "span", "section", "h2", "blockquote", "script", "style", "noscript", "template", "svg", "math", "title", "textarea", "ul", "li", "pre", "main", "x-y"}
	if inSVG {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "template" }) // the parser loses its way behind one
	}
	svgNames := []string{"g", "text", "desc", "title", "foreignObject", "style", "script", "svg"}
	for range 2 + r.IntN(5) {
		switch n := r.IntN(10); {
		case n < 4 || depth == 0:
			b.WriteString([]string{"word", " ", "\n", "&amp;", "a &lt; b", "<!-- c -->", "\u00a0", "é", "<br>", "<img alt=x>", "<hr/>"}[r.IntN(11)])
		case n < 9:
			wrap(r, b, names[r.IntN(len(names))], depth, inSVG)
		default:
			b.WriteString("<svg>")
			for range r.IntN(3) {
				wrap(r, b, svgNames[r.IntN(len(svgNames))], depth, true)
			}
			b.WriteString("</svg>")
		}
	}
}

func wrap(r *rand.Rand, b *strings.Builder, name string, depth int, inSVG bool) {
	b.WriteString("<" + name + ">")
	switch name {
	case "script", "style", "noscript", "title", "textarea", "svg", "math", "g", "text":
		b.WriteString([]string{"", "raw", "&amp;"}[r.IntN(3)])
	case "p", "h2", "a", "b", "i", "pre", "li", "template": // where a block would end or repeat them
		b.WriteString([]string{"", "inner", " in <em>ner</em> "}[r.IntN(3)])
	default:
		wellNested(r, b, depth-1, inSVG)
	}
	b.WriteString("</" + name + ">")
}

func TestO50_TheTextIsThatOfTheTreeWhereAPageHasNoFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(50, 1))
	long := 0
	for range 3000 {
		var b strings.Builder
		b.WriteString([]string{"", "<!DOCTYPE html>", "<html><head><title>t</title></head><body>", "<title>t</title><style>s</style>\n"}[r.IntN(4)])
		wellNested(r, &b, 4, false)
		got, want := string(Extract([]byte(b.String()))), secondReading(t, []byte(b.String()))
		if got != want {
			t.Fatalf("%q: %q, and of the tree %q", b.String(), got, want)
		}
		if len(got) > 12 {
			long++
		}
	}
	if long < 500 {
		t.Errorf("only %d pages had text", long)
	}
}
