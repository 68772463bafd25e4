package rsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// A hostile document is one of nearly MaxBytes that is dear to read.
type hostile struct {
	name, text string
	unread     bool
}

// filled repeats a piece until a document is nearly full.
func filled(piece func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < rsl.MaxBytes-1024; i++ {
		b.WriteString(piece(i))
	}
	return b.String()
}

func repeated(piece string) string { return filled(func(int) string { return piece }) }

// times writes a format with each number below n.
func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func hostileDocuments() []hostile {
	numbered := func(format string) string { return filled(func(i int) string { return fmt.Sprintf(format, i) }) }
	return []hostile{
		{"100,000 levels", strings.Repeat("<a>", 100_000), true},
		{"100,000 levels of rsl", root + strings.Repeat("<b>", 100_000), true},
		{"references to each other", entityBomb(), true},
		{"one comment", document(entry + "<!--" + repeated("x") + "-->"), false},
		{"many comments", document(entry + repeated("<!---->")), false},
		{"a comment of almost ends", document(entry + "<!--" + repeated("->") + "-->"), false},
		{"one attribute", document(`<content url="` + repeated("x") + `"/>`), false},
		{"an attribute of references", document(`<content url="` + repeated("&#9;") + `"/>`), false},
		{"a reference of zeros", document(`<content url="&#` + repeated("0") + `65;"/>`), false},
		{"many attributes", document("<content url='/'" + numbered(" a%d=''") + "/>"), false},
		{"many attributes with one long beginning", document("<content url='/'" + numbered(" a"+strings.Repeat("0", 500)+"%d=''") + "/>"), false},
		{"many attributes of one long namespace", document(`<a xmlns:p="` + strings.Repeat("u", 250_000) + `"` + times(20_000, " p:a%d=''") + "/>" + entry), false},
		{"many prefixes of one long namespace", document("<a" + times(10, ` xmlns:p%d="`+strings.Repeat("u", 50_000)+`"`) + times(10, " p%d:a=''") + "/>" + entry), true},
		{"many namespaces", document("<a" + numbered(" xmlns:n%d='u'") + "/>" + entry), false},
		{"a namespace for each element", document(entry + numbered("<a xmlns='u%d'/>")), false},
		{"elements of a prefix among many", document("<a" + times(11_000, " xmlns:n%05d='u'") + ">" + strings.Repeat("<n00001:b/>", 20_000) + "</a>" + entry), false},
		{"17 attributes each", document(entry + repeated("<a b='' c='' d='' e='' f='' g='' h='' i='' j='' k='' l='' m='' n='' o='' p='' q='' r=''/>")), false},
		{"many entries", document(repeated("<content url='/'/>")), false},
		{"many entries of different origins", document(numbered("<content url='http://h%d'/>")), false},
		{"many licences", document("<content url='/'>" + repeated("<license/>") + "</content>"), false},
		{"many payments", document("<content url='/'><license>" + repeated("<payment/>") + "</license></content>"), false},
		{"many conditions", document("<content url='/'><license>" + repeated("<permits type='user'>a</permits>") + "</license></content>"), false},
		{"many words", document("<content url='/'><license><permits type='user'>" + repeated("a b ") + "</permits></license></content>"), false},
		{"many unknown words", document("<content url='/'><license><permits>" + repeated("a ") + "</permits></license></content>"), false},
		{"text in pieces", document("<content url='/'><license><permits>" + repeated("a<!---->") + "</permits></license></content>"), false},
		{"an amount", document("<content url='/'><license><payment><amount currency='USD'>" + repeated("1") + "</amount></payment></license></content>"), false},
		{"many unknown elements", document(entry + repeated("<a/>")), false},
		{"brackets", document(entry + repeated("]")), false},
		{"ampersands", document(entry + repeated("&")), true},
		{"quotes that do not end", root + repeated("<a b=\""), true},
		{"instructions", document(entry + repeated("<?a?>")), false},
		{"line ends", document("<content url='/'><license><permits>" + repeated("\r") + "</permits></license></content>"), false},
	}
}

// Memory stays in proportion to the document: no piece of it is worth more than
// a fixed number of octets.
func TestHostileDocumentsTakeMemoryInProportion(t *testing.T) {
	const most = 96 // octets of memory for one of the document
	for _, h := range hostileDocuments() {
		t.Run(h.name, func(t *testing.T) {
			body := []byte(h.text)
			if len(body) > rsl.MaxBytes {
				t.Fatalf("%d octets", len(body))
			}
			var d *rsl.Document
			var err error
			n := allocated(func() {
				if d, err = rsl.Parse(body); err == nil {
					d.Index(paths)
				}
			})
			if (err != nil) != h.unread {
				t.Fatalf("error %v", err)
			}
			if most := uint64(most * (len(body) + 4096)); n > most {
				t.Errorf("%d octets of memory for %d", n, len(body))
			}
			if d == nil {
				return
			}
			s := d.Index(paths).Select("https://o.example", []string{"/", "/a"})
			d.RuleAll(s, "ai-input", rsl.Operator{UserClasses: []string{"a"}})
		})
	}
}
