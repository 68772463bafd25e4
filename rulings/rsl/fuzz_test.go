package rsl_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// documentSeeds are documents that take the parser through each of its branches.
var documentSeeds = []string{
	"", "<", "<rsl/>", "\xff\xfe<\x00", "<!doctype html>", document(entry), "\uFEFF" + document(entry) + "<!-- - --><?a b?>\n",
	`<?xml version="1.0" encoding='us-ascii' standalone="yes" ?>` + document(entry),
	document(`<content url="/&amp;&#65;&#x42;" server="s" encrypted="true"><license><permits type="usage">ai-input <![CDATA[search]]></permits>` +
		`<prohibits>all,AI-Use</prohibits><permits type="geo">EU</permits><prohibits type="user">a</prohibits>` +
		`<payment type="use"><amount currency="USD">1.5</amount></payment><reporting type="t" profile="p"/></license></content>`),
	`<r:rsl xmlns:r="https://rslstandard.org/rsl" r:a="" a=""><r:content url="https://o.example/a*b$"/><x xmlns="u"/></r:rsl>`,
	document(`<a b="" c="" d="" e="" f="" g="" h="" i="" j="" k="" l="" m="" n="" o="" p="" q="" b=""/>`), document(entry + "]]>"), document("<content/>"),
	document("<é:ü xmlns:é='ö' é:ä='&lt;'/>" + entry),
}

// FuzzParse holds what callers rely on for any octets, and that encoding/xml
// finds the same elements in what Parse reads.
func FuzzParse(f *testing.F) {
	if len(documentSeeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, seed := range documentSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := rsl.Parse(body)
		again, errAgain := rsl.Parse(body)
		if diff := cmp.Diff(d, again, cmp.Exporter(everyType)); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatalf("two readings differ: %v, %v\n%s", err, errAgain, diff)
		}
		if err != nil {
			checkFault(t, err, body)
			return
		}
		if len(d.Entries) == 0 || len(d.NotUnderstood) > 64 || d.Omitted > 0 && len(d.NotUnderstood) < 64 {
			t.Fatalf("%d entries, %d remarks, %d omitted", len(d.Entries), len(d.NotUnderstood), d.Omitted)
		}
		for _, r := range d.NotUnderstood {
			if len(r.Text) > 64 || r.Offset < 0 || r.Offset >= int64(len(body)) || body[r.Offset] != '<' {
				t.Fatalf("%+v", r)
			}
		}
		compareWithSecondReader(t, d, body)
		all := make([]int, len(d.Entries))
		for i := range all {
			all[i] = i
		}
		for _, use := range []string{"ai-input", "search", ""} {
			v := d.Rule(all, use, rsl.Operator{UserClasses: []string{"a"}, Country: "FR", Reporting: []string{"p"}})
			if (v.Outcome == rsl.Refuse) != (v.Reason != "") || v.Outcome == rsl.Allow && v.Offer == 0 || (v.Reason == rsl.ReasonPayment) != (v.Payment != nil) {
				t.Fatalf("%s: %+v", use, v)
			}
		}
	})
}

func everyType(reflect.Type) bool { return true }

func checkFault(t *testing.T, err error, body []byte) {
	var fault *rsl.Fault
	if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > int64(len(body)) || fault.Kind == "" {
		t.Fatalf("%#v", err)
	}
	switch fault.Cause {
	case rsl.CauseTooLarge, rsl.CauseXML, rsl.CauseNotRSL, rsl.CauseInvalid:
	default:
		t.Fatalf("%#v", err)
	}
}

// compareWithSecondReader reads the entries with encoding/xml, which takes more
// documents than Parse and no fewer. It knows names of an older edition of XML,
// so documents in ASCII alone are compared.
func compareWithSecondReader(t *testing.T, d *rsl.Document, body []byte) {
	if bytes.ContainsFunc(body, func(r rune) bool { return r > '~' }) {
		return
	}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	var entries, got []rsl.Entry
	depth := 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the second reader does not read it: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 2 && token.Name == (xml.Name{Space: rsl.Namespace, Local: "content"}) {
				entries = append(entries, entryOf(token.Attr))
			}
		case xml.EndElement:
			depth--
		}
	}
	for _, e := range d.Entries {
		got = append(got, rsl.Entry{URL: spaced(e.URL), Server: spaced(e.Server), Encrypted: e.Encrypted})
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Fatalf("-second reader +ours:\n%s", diff)
	}
}

func entryOf(attributes []xml.Attr) (e rsl.Entry) {
	for _, a := range attributes {
		if a.Name.Space != "" {
			continue
		}
		switch a.Name.Local {
		case "url":
			e.URL = spaced(a.Value)
		case "server":
			e.Server = spaced(a.Value)
		case "encrypted":
			e.Encrypted = a.Value == "true"
		}
	}
	return e
}

// spaced makes all white space spaces. The second reader keeps line ends and tabs
// in attributes as they are, where XML makes them spaces.
func spaced(s string) string { return strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(s) }

// FuzzSelect compares Select with the plain one, for urls parted by white space.
func FuzzSelect(f *testing.F) {
	seeds := [][2]string{
		{"/a /a* /a$ /*", "/a"}, {"/%61 /a/** https://o.example/a http:// ftp://x/", "/a//b"}, {"/*a*b /a*b$ /*b", "/aab;x//b"},
		{"https://o.example/a /a", "/a"}, {"*:// /a://b", "/a/"}, {"/aaaaaaaaa*b /aaaaaaaaab /aaaaaaaa", "/aaaaaaaaab"},
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, list, target string) {
		var urls []string
		for _, url := range append(strings.Fields(list), "") {
			if url == "" || url[0] == '/' || url[0] == '*' || strings.HasPrefix(url, "https://o.example/") {
				url, _, _ = strings.Cut(url, "#")
				urls = append(urls, url)
			}
		}
		if len(urls) > 100 || len(list)+len(target) > 2000 || !strings.HasPrefix(target, "/") {
			return // the plain one takes the square
		}
		d, err := rsl.Parse([]byte(withEntries(urls...)))
		if err != nil {
			return // an octet that no document holds
		}
		origin, readings := splitPage(t, "https://o.example"+target)
		got := d.Index(paths).Select(origin, readings)
		if diff := cmp.Diff(plainSelect(urls, origin, readings), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", urls, diff)
		}
	})
}
