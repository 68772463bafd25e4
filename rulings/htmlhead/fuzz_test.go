package htmlhead

import (
	"bytes"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var seeds = []string{
	"", "<", "</", "<!", "<!-", "<!--", "\xef\xbb", "\xff\xfe", "<\x00", "<body", link, "<base href=//b/>" + link + "<meta name=robots content='a&lt;'>",
	script("<?xml version=\"1.0\"?><rsl/>") + script("<!--<script></script>-->"), "<script type=application/rsl+xml>x</script", "<script type=application/rsl+xml a='>",
	"<template><title></template></title><script>", "<title/>" + link, "<meta name=tdm-reservation content=1/><META =a name='examplebot'content=\"x\"/ / b>", "<!--!> --!><!x><?y></z a='>'>" + link,
	"<noscript><style></noscript>" + link + "</style></head>", "<link rel=license type=application/rsl+xml href='http://[x'><link rel=\"a\tLICENSE\" type=' application/rsl+xml;' href=&#47;m>",
}

// FuzzRead holds what callers rely on for any page: how it arrives and where it
// is cut makes no difference, and the extract gives the same again.
func FuzzRead(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for i, s := range seeds {
		f.Add([]byte(s), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, page []byte, xml bool) {
		o := options(t)
		o.XML = xml
		checkPage(t, page, o)
	})
}

func checkPage(t *testing.T, page []byte, o Options) {
	t.Helper()
	whole := bytes.NewReader(page)
	h, err := Read(whole, o)
	if err != nil {
		t.Fatal(err)
	}
	byOctet := bytes.NewReader(page)
	again, err := Read(iotest.OneByteReader(byOctet), o)
	if err != nil || !reflect.DeepEqual(h, again) {
		t.Fatalf("octet by octet, %v:\n%s", err, cmp.Diff(h, again))
	}
	if taken := len(page) - byOctet.Len(); taken > MaxBytes || taken > len(page)-whole.Len() {
		t.Fatalf("took %d octets, and %d at once", taken, len(page)-whole.Len())
	}
	for i, l := range urlsOf(h) {
		u, err := url.Parse(l)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || slices.Contains(urlsOf(h)[:i], l) || i == MaxLicences {
			t.Fatalf("licence %q, %v", l, err)
		}
	}
	if len(h.Extract) > 2*MaxBytes || (h.Extract == nil) != (len(urlsOf(h))+len(scriptsOf(h))+len(h.Metas)+h.Unread == 0) {
		t.Fatalf("%+v", h)
	}
	checkRestore(t, h, o)
	if !h.UTF16 && !bytes.Equal(Restore(h.Extract, o).Extract, h.Extract) {
		t.Fatalf("the extract of %q is %q", h.Extract, Restore(h.Extract, o).Extract)
	}
}

// FuzzSecondReader compares the scanner with the tokenizer of x/net, on what both
// define: not on a script in a comment in a script, where the tokenizer differs
// from the standard, and not on pages longer than the bound.
func FuzzSecondReader(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		if len(page) > MaxBytes || bytes.Contains(page, []byte("<!--")) && bytes.Contains(bytes.ToLower(page), []byte("<script")) {
			return
		}
		s := &scanner{r: bytes.NewReader(page), limit: MaxBytes}
		var got []string
		for {
			e, ok := s.next()
			if !ok {
				break
			}
			if complete(e) {
				got = append(got, string(e.tag))
			}
			if e.name == "script" && complete(e) {
				got = append(got, string(e.text))
			}
		}
		if diff := cmp.Diff(secondReading(page), got); diff != "" {
			t.Fatalf("%q (-tokenizer +scanner):\n%s", page, diff)
		}
	})
}

// complete reports whether the start tag of e has its end.
func complete(e element) bool {
	s := &scanner{buf: e.tag, pos: 1 + len(e.name), err: io.EOF}
	whole, _ := s.attributes()
	return whole
}

// secondReading lists the start tags of the head, and the text behind each script
// tag, as the tokenizer finds them.
func secondReading(page []byte) (list []string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	templates, raw := 0, ""
	for {
		t := z.Next()
		inside := raw
		raw = ""
		if inside != "" {
			text := ""
			if t == html.TextToken {
				text = string(z.Raw())
			}
			if inside == "script" && templates == 0 {
				list = append(list, text)
			}
			if t == html.TextToken {
				continue
			}
		}
		octets := string(z.Raw())
		name, _ := z.TagName()
		switch t {
		case html.ErrorToken:
			return list
		case html.TextToken:
			if templates == 0 && strings.Trim(octets, whiteSpace) != "" {
				return list
			}
		case html.EndTagToken:
			if string(name) == "head" && templates == 0 {
				return list
			}
			if string(name) == "template" && templates > 0 {
				templates--
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if templates == 0 && !slices.Contains(headNames, string(name)) {
				return list
			}
			if templates == 0 {
				list = append(list, octets)
			}
			if string(name) == "template" {
				templates++
			}
			if isRaw(string(name)) {
				raw = string(name)
			}
		}
	}
}
