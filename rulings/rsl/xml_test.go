package rsl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings/rsl"
)

const entry = `<content url="/"/>`

// root is the start tag of every document below.
const root = "<rsl " + space + ">"

func TestT71_WhatIsNotXMLIsUnread(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string // ~ stands before the octet of the fault
		kind string
	}{
		{"an empty body", "~", "no root element"},
		{"white space alone", " \n~", "no root element"},
		{"a byte order mark alone", "\uFEFF~", "no root element"},
		{"text alone", "~404 not found", "text outside the root element"},
		{"JSON", `~{"content":[]}`, "text outside the root element"},

		{"UTF-16 with a mark, low octet first", "~\xff\xfe<\x00r\x00", "encoding other than UTF-8 and US-ASCII"},
		{"UTF-16 with a mark, high octet first", "~\xfe\xff\x00<\x00r", "encoding other than UTF-8 and US-ASCII"},
		{"UTF-16 without a mark", "<~\x00r\x00s\x00l\x00", "character that XML forbids"},
		{"an octet that begins no character", root + entry + "<!--~\xe9--></rsl>", "octets that are not UTF-8"},
		{"an overlong spelling of /", root + entry + "~\xc0\xaf</rsl>", "octets that are not UTF-8"},
		{"a surrogate in UTF-8", root + entry + "~\xed\xa0\x80</rsl>", "octets that are not UTF-8"},
		{"NUL", root + entry + "~\x00</rsl>", "character that XML forbids"},
		{"NUL in a comment", root + entry + "<!-- ~\x00 --></rsl>", "character that XML forbids"},
		{"form feed", root + "~\f" + entry + "</rsl>", "character that XML forbids"},
		{"U+FFFE", root + entry + "~\uFFFE</rsl>", "character that XML forbids"},

		{"version 1.1", `<?xml~ version="1.1"?>` + document(entry), "version other than 1.0"},
		{"no version", `~<?xml encoding="UTF-8"?>` + document(entry), "malformed XML declaration"},
		{"encoding before version", `~<?xml encoding="UTF-8" version="1.0"?>` + document(entry), "malformed XML declaration"},
		{"ISO-8859-1", `<?xml version="1.0"~ encoding="ISO-8859-1"?>` + document(entry), "encoding other than UTF-8 and US-ASCII"},
		{"UTF-16 in a declaration in UTF-8", `<?xml version="1.0"~ encoding="UTF-16"?>` + document(entry), "encoding other than UTF-8 and US-ASCII"},
		{"US-ASCII with another octet", `<?xml version="1.0" encoding="US-ASCII"?>` + document(entry+"~é"), "octet outside the declared US-ASCII"},
		{"no space before encoding", `~<?xml version="1.0"encoding="UTF-8"?>` + document(entry), "malformed XML declaration"},
		{"standalone perhaps", `~<?xml version="1.0" standalone="perhaps"?>` + document(entry), "malformed XML declaration"},
		{"an unknown part of the declaration", `~<?xml version="1.0" lang="en"?>` + document(entry), "malformed XML declaration"},
		{"a declaration that does not end", `~<?xml version="1.0" `, "malformed XML declaration"},
		{"a declaration behind white space", ` ~<?xml version="1.0"?>` + document(entry), "malformed processing instruction"},
		{"a second declaration", `<?xml version="1.0"?>~<?xml version="1.0"?>` + document(entry), "malformed processing instruction"},
		{"a declaration in capitals", `~<?XML version="1.0"?>` + document(entry), "malformed processing instruction"},

		{"a document type", "~<!DOCTYPE rsl>" + document(entry), "document type declaration"},
		{"a document type in lower case", "~<!doctype html><title>Home</title>", "document type declaration"},
		{"a declaration of an entity", root + `~<!ENTITY a "b">` + entry + "</rsl>", "document type declaration"},
		{"a conditional section", root + `~<![INCLUDE[` + entry + "]]></rsl>", "document type declaration"},

		{"an entity of HTML", document(entry + "~&copy;"), "malformed or unknown reference"},
		{"an entity in capitals", document(entry + "~&AMP;"), "malformed or unknown reference"},
		{"a bare ampersand", document(entry + "a ~& b"), "malformed or unknown reference"},
		{"an ampersand in an attribute", document(`<content url="/?a=1~&b=2"/>`), "malformed or unknown reference"},
		{"a reference without semicolon", document(entry + "~&amp "), "malformed or unknown reference"},
		{"a reference to NUL", document(entry + "~&#0;"), "malformed or unknown reference"},
		{"a reference to a surrogate", document(entry + "~&#xD800;"), "malformed or unknown reference"},
		{"a reference past the last character", document(entry + "~&#x110000;"), "malformed or unknown reference"},
		{"a reference to 2^32 + 65", document(entry + "~&#4294967361;"), "malformed or unknown reference"},
		{"a hexadecimal reference with X", document(entry + "~&#X41;"), "malformed or unknown reference"},
		{"a reference to nothing", document(entry + "~&#;"), "malformed or unknown reference"},
		{"a decimal reference with letters", document(entry + "~&#4a;"), "malformed or unknown reference"},

		{"text before the root", "~x" + document(entry), "text outside the root element"},
		{"text behind the root", document(entry) + " ~x", "text outside the root element"},
		{"a reference behind the root", document(entry) + "~&#32;", "text outside the root element"},
		{"a CDATA section behind the root", document(entry) + "~<![CDATA[]]>", "text outside the root element"},
		{"a second root", document(entry) + "\n~<rsl/>", "second root element"},
		{"an end tag behind the root", document(entry) + "~</rsl>", "end tag that closes nothing"},
		{"an end tag before the root", "~</rsl>", "end tag that closes nothing"},
		{"an element that does not end", root + entry + "~", "element that is not closed"},
		{"end tags in the wrong order", root + "<content url='/'><license>~</content></license></rsl>", "end tag that closes nothing"},
		{"an end tag with more behind the name", root + entry + "~</rsl2>", "end tag that closes nothing"},
		{"an end tag with an attribute", root + entry + "~</rsl a='b'>", "end tag that closes nothing"},
		{"an end tag of another prefix", `<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"/>~</rsl>`, "end tag that closes nothing"},
		{"]]> in text", document(entry + "a ~]]> b"), "text that ends a CDATA section"},
		{"-- in a comment", document(entry + "~<!-- a -- b -->"), "malformed comment"},
		{"a comment that ends in --->", document(entry + "~<!-- a --->"), "malformed comment"},
		{"a comment that does not end", document(entry + "~<!-- a"), "markup that is not closed"},
		{"a CDATA section that does not end", document(entry + "~<![CDATA[ a"), "markup that is not closed"},
		{"an instruction that does not end", document(entry + "~<?a b"), "markup that is not closed"},
		{"an instruction without a name", document(entry + "~<? a?>"), "malformed processing instruction"},
		{"an instruction with a colon in its name", document(entry + "~<?a:b c?>"), "malformed processing instruction"},

		{"a name that begins with a digit", document("~<1/>"), "malformed name"},
		{"a space before the name", document("~< a/>"), "malformed name"},
		{"two colons", document(`<a:b~:c xmlns:a="u"/>`), "malformed attribute"},
		{"a colon first", document("~<:a/>"), "malformed name"},
		{"a colon last", document("~<a:/>"), "malformed name"},
		{"a start tag that does not end", root + "~<content url='/'", "markup that is not closed"},
		{"a slash inside a tag", document("<content ~/ url='/'/>"), "malformed name"},
		{"attributes without space between", document(`<content url="/"~server="x"/>`), "malformed attribute"},
		{"an attribute without a value", document(`<content ~url/>`), "malformed attribute"},
		{"an attribute without quotes", document(`<content ~url=/ />`), "malformed attribute"},
		{"an attribute that does not end", root + `<content ~url="/></rsl>`, "malformed attribute"},
		{"< in an attribute", document(`<content url="/~<"/>`), "malformed attribute"},

		{"a duplicate attribute", document(`<content url="/a" ~url="/"/>`), "duplicate attribute"},
		{"the same attribute by two prefixes", document(`<a xmlns:p="u" xmlns:q="u" p:x="1" ~q:x="1"/>`), "duplicate attribute"},
		{"a namespace declared twice", document(`<a xmlns:p="u" ~xmlns:p="v"/>`), "duplicate attribute"},
		{"a duplicate among many attributes", document(`<a b="" c="" d="" e="" f="" g="" h="" i="" j="" k="" l="" m="" n="" o="" p="" q="" ~b=""/>`), "duplicate attribute"},
		{"an undeclared prefix of an element", document("~<x:a/>"), "undeclared prefix"},
		{"an undeclared prefix of an attribute", document(`<a ~x:b=""/>`), "undeclared prefix"},
		{"a prefix declared beside it", document(`<a xmlns:x="u"/>~<x:b/>`), "undeclared prefix"},
		{"an element of the prefix xmlns", document("~<xmlns:a/>"), "undeclared prefix"},
		{"a prefix taken back", document(`<a ~xmlns:x=""/>`), "forbidden namespace declaration"},
		{"xml bound to something else", document(`<a ~xmlns:xml="u"/>`), "forbidden namespace declaration"},
		{"something else bound to xml's namespace", document(`<a ~xmlns:x="http://www.w3.org/XML/1998/namespace"/>`), "forbidden namespace declaration"},
		{"xmlns declared", document(`<a ~xmlns:xmlns="u"/>`), "forbidden namespace declaration"},
		{"xmlns's namespace declared", document(`<a ~xmlns="http://www.w3.org/2000/xmlns/"/>`), "forbidden namespace declaration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			offset := strings.IndexByte(tt.text, '~')
			_, err := rsl.Parse([]byte(strings.Replace(tt.text, "~", "", 1)))
			want := &rsl.Fault{Cause: rsl.CauseXML, Kind: tt.kind, Offset: int64(offset)}
			var got *rsl.Fault
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT71_WhatIsXMLIsRead(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"a byte order mark", "\uFEFF" + document(entry)},
		{"a byte order mark and a declaration", "\uFEFF<?xml version='1.0'?>" + document(entry)},
		{"a declaration in other spelling", "<?xml\n version = '1.0'\tencoding='utf-8' standalone = \"no\" ?>\r\n" + document(entry)},
		{"US-ASCII", `<?xml version="1.0" encoding="us-ascii"?>` + document(entry)},
		{"an instruction that begins as the declaration does", `<?xml-stylesheet href="a.xsl"?>` + document(entry)},
		{"comments and instructions on both sides", "<!-- a - b -->\n<?a?><?b c ? > ??>" + document(entry) + "<!---->\n<?d?>\n"},
		{"a comment of arrows", document(entry + "<!-->--><!--->-->")},
		{"CDATA sections", document(entry + "<![CDATA[<&>]]]]><![CDATA[>]]>")},
		{"]]> in an attribute", document(`<content url="/]]>"/>`)},
		{"> in text and in attributes", document(`<content url="/>">></content>`)},
		{"] before an end", document(entry + "]]")},
		{"the other quotes in an attribute", document(`<content url='/"'/>` + `<content url="/'"/>`)},
		{"white space wherever it may be", "<rsl\n" + space + "\t><content\r\nurl\n=\n'/'\n/></rsl\n>"},
		{"the five entities and references", document(entry + "&lt;&gt;&amp;&apos;&quot;&#9;&#x10FFFF;&#0000065;&#xFFFD;")},
		{"names of other alphabets", document(entry + `<x:Ünïcode-1.2· xmlns:x="u" ключ="1" x:ключ="2"/><名前/>`)},
		{"the prefix xml", document(`<content url="/" xml:lang="en"/>`)},
		{"xml declared as what it is", document(`<a xmlns:xml="http://www.w3.org/XML/1998/namespace"/>` + entry)},
		{"the same attribute in two namespaces", document(`<content url="/" x:url="/a" xmlns:x="u"/>`)},
		{"a prefix bound anew inside", document(`<a xmlns:x="u"><x:b xmlns:x="v"/><x:c/></a>` + entry)},
		{"no default namespace inside", document(`<a xmlns=""><b/></a>` + entry)},
		{"many attributes", document(`<content url="/" b="" c="" d="" e="" f="" g="" h="" i="" j="" k="" l="" m="" n="" o="" p="" q=""/>`)},
		{"U+FFFD and the last plane", document(entry + "\uFFFD\U0010FFFF\u0085")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := parse(t, tt.text); len(d.Entries) == 0 {
				t.Error("no entries")
			}
		})
	}
}

func TestT71_64LevelsAreReadAnd65AreNot(t *testing.T) {
	nested := func(levels int) string {
		inner := levels - 2 // rsl and content
		return document("<content url='/'>" + strings.Repeat("<b>", inner) + strings.Repeat("</b>", inner) + "</content>")
	}
	parse(t, nested(64))
	_, err := rsl.Parse([]byte(nested(65)))
	if f, ok := err.(*rsl.Fault); !ok || f.Cause != rsl.CauseXML || f.Kind != "too many levels" {
		t.Errorf("65 levels: %v", err)
	}
}

func TestT71_AFaultQuotesNothing(t *testing.T) {
	const canary = "canary"
	for _, text := range []string{
		canary, "<" + canary, "<" + canary + "/>", document("<" + canary + ":a/>"), document("<a " + canary + "='1' " + canary + "='2'/>"),
		document("&" + canary + ";"), "<!" + canary + ">", "<?xml version='" + canary + "'?>", "<?xml version='1.0' encoding='" + canary + "'?>",
		document("<content/>" + canary), document(entry + "</" + canary + ">"), `<rsl xmlns="` + canary + `"/>`,
		document(`<content url="/" encrypted="` + canary + `"/>`),
	} {
		_, err := rsl.Parse([]byte(text))
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestT71_WhatIsNotXMLIsThatWhateverStandsBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		cause rsl.Cause
	}{
		"HTML that is no XML":             {"<html><head><meta charset=utf-8></head></html>", rsl.CauseXML},
		"HTML that is":                    {"<html><head><title>Home</title></head></html>", rsl.CauseNotRSL},
		"an invalid document, cut short":  {root + "<content/>", rsl.CauseXML},
		"an invalid document":             {document("<content/>"), rsl.CauseInvalid},
		"no namespace and no entry":       {"<rsl/>", rsl.CauseNotRSL},
		"another element of the RSL kind": {"<content " + space + " url='/'/>", rsl.CauseNotRSL},
		"capitals":                        {"<RSL " + space + ">" + entry + "</RSL>", rsl.CauseNotRSL},
		"the namespace in capitals":       {`<rsl xmlns="HTTPS://rslstandard.org/rsl">` + entry + "</rsl>", rsl.CauseNotRSL},
		"a space round the namespace":     {`<rsl xmlns=" https://rslstandard.org/rsl">` + entry + "</rsl>", rsl.CauseNotRSL},
		"a prefix for another namespace":  {`<r:rsl ` + space + ` xmlns:r="urn:r"><content url="/"/></r:rsl>`, rsl.CauseNotRSL},
	} {
		_, err := rsl.Parse([]byte(tt.text))
		if f, ok := err.(*rsl.Fault); !ok || f.Cause != tt.cause {
			t.Errorf("%s: %v, want %s", name, err, tt.cause)
		}
	}
}

func TestT69_ALongerDocumentIsTooLarge(t *testing.T) {
	fill := func(n int) []byte {
		text := document(entry + "<!---->")
		return []byte(strings.Replace(text, "<!--", "<!--"+strings.Repeat("x", n-len(text)), 1))
	}
	if _, err := rsl.Parse(fill(rsl.MaxBytes)); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("rsl: too_large: more octets than are read at octet %d", rsl.MaxBytes)
	if _, err := rsl.Parse(fill(rsl.MaxBytes + 1)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
