package pagetext

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func check(t *testing.T, cases []struct{ name, page, want string }) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(Extract([]byte(tt.page)))); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.page, diff)
			}
		})
	}
}

func TestO50_WhiteSpaceAndLines(t *testing.T) {
	check(t, []struct{ name, page, want string }{
		{"nothing", "", ""},
		{"white space alone", " \t\r\n\f<p> <br></p>&nbsp;", ""},
		{"a run is one blank", "a \t\r\n\f\v b", "a b"},
		{"white space of any kind", "a\u00a0\u2003\u3000\u2028\u0085b", "a b"},
		{"invisible characters are none", "a\u200b\u200d\ufeff\u00adb", "a\u200b\u200d\ufeff\u00adb"},
		{"at the ends of lines it goes", " a <p> b </p> c ", "a\nb\nc"},
		{"br starts a line", "a<br>b<br/>c</br>d", "a\nb\nc\nd"},
		{"blocks start lines at both ends", "a<div>b</div>c<hr>d", "a\nb\nc\nd"},
		{"empty lines go", "<div><div><p>a</p></div><p></p><p> </p></div><p>b", "a\nb"},
		{"a line break in the page is a blank", "a\nb\r\nc\rd", "a b c d"},
		{"cells and list items start lines", "<table><tr><th>a<td>b</table><ul><li>c<li>d</ul>", "a\nb\nc\nd"},
		{"inline elements join", "ig<b>no</b>re<i> all</i><wbr>s", "ignore alls"},
		{"so do comments", "ig<!-- x -->nore", "ignore"},
		{"white space between inline elements", "<b>a</b> <i>b</i>\n<a href=x> c</a>", "a b c"},
		{"names in any letter case", "a<DIV>b</Div>c<bR>d", "a\nb\nc\nd"},
		{"a preformatted text is no exception", "<pre>a\n  b</pre>", "a b"},
	})
	for _, name := range blocks {
		if got := string(Extract([]byte("<p>a<" + name + ">b"))); got != "a\nb" {
			t.Errorf("%s starts no line: %q", name, got)
		}
	}
}

func TestO50_Dropped(t *testing.T) {
	check(t, []struct{ name, page, want string }{
		{"comments, doctypes and declarations", "<!DOCTYPE html>a<!--b--><!x><?y?></ z></>c<![CDATA[d]]>", "ac"},
		{"attributes", `<p title="a" data-x='b' c=d>e<img alt="f">`, "e"},
		{"a greater-than sign in an attribute", `<p title="a > b">c`, "c"},
		{"script, style and noscript", "a<script>b</p></script>c<style>d</style>e<noscript><p>f</p></noscript>g", "aceg"},
		{"in any letter case", "a<SCRIPT>b</sCript >c", "ac"},
		{"an empty one", "<script></script>a<style></style>b", "ab"},
		{"a script that hides its end tag", "a<script><!--<script></script>b--></script>c", "ac"},
		{"a script that closes itself does not", "a<script/>b</script>c", "ac"},
		{"one without end, up to the end", "a<script>b<p>c", "a"},
		{"a template and what is in it", "a<template>b<p>c<template>d</template>e</template>f", "af"},
		{"a template with a script in it", "a<template><script></template></script>b</template>c", "ac"},
		{"an end tag of none", "a</template></script></svg></title>b", "ab"},
		{"a tag without end", "a<p title='b", "a"},
		{"an end tag without end", "a</p", "a"},
		{"a less-than sign that opens nothing", "a < b <1 <", "a < b <1 <"},
		{"zero bytes", "a\x00b", "ab"},
	})
}

func TestO50_TheHead(t *testing.T) {
	check(t, []struct{ name, page, want string }{
		{"its content is dropped", "<html><head><title>a</title><meta name=b><style>c</style></head><body>d", "d"},
		{"an end tag is not needed", "<head><title>a</title><body>b", "b"},
		{"nor are a body and a head", "<title>a</title><p>b", "b"},
		{"it ends with text", "<head><title>a</title>b<title>c</title>", "bc"},
		{"white space does not end it", "\n<head>\n<title>a</title>\n<title>b</title>", ""},
		{"nor does what may stand between", "<!doctype html></p></div><html></head><base><link><title>a</title>b", "b"},
		{"an end tag of the body ends it", "</body><title>a</title>", "a"},
		{"a head in the body is none", "a<head>b</head>c", "abc"},
		{"a title in the body is text", "<body><title>a&amp;<b></title>", "a&<b>"},
		{"frames that are not shown", "<noframes>a</noframes>b<noframes>c</noframes>", "bc"},
		{"a template in it", "<template><p>a</p></template><title>b</title>c", "c"},
		{"a byte order mark does not end it", "\ufeff<title>a</title>b", "b"},
		{"a title without end", "<title>a<p>b", ""},
	})
}

func TestO50_SVGAndMath(t *testing.T) {
	check(t, []struct{ name, page, want string }{
		{"svg is dropped", "a<svg><text>b</text><svg>c</svg>d</svg>e", "ae"},
		{"one that closes itself is empty", "a<svg/>b<math/>c", "abc"},
		{"and HTML in it", "a<svg><foreignObject><p>b<svg>c</svg>d</p></foreignObject>e</svg>f", "af"},
		{"no raw text in it", "a<svg><title/><style/><script/>b</svg>c", "ac"},
		{"a CDATA section in it", "a<svg><![CDATA[</svg>]]></svg>b", "ab"},
		{"a tag of HTML ends it", "a<svg><g><p>b", "a\nb"},
		{"but not in HTML inside", "a<svg><desc><p>b</desc>c</svg>d", "ad"},
		{"an end tag of HTML ends it", "<div>a<svg><g></div>b", "a\nb"},
		{"one of svg does not", "a<svg></g></a>b</svg>c", "ac"},
		{"its end tag ends what is open in it", "a<svg><desc></svg>b", "ab"},
		{"a template in it is none", "a<svg><template></svg>b", "ab"},
		{"one in a template", "a<template><svg></template>b", "ab"},
		{"math is text", "a <math><mi>x</mi><mo>=</mo><mn>1</mn></math>", "a x=1"},
		{"and a CDATA section in it", "<math><![CDATA[a<b]]></math>", "a<b"},
		{"no raw text in math", "<math><title/><style/>a</math>b", "ab"},
	})
}

func TestO50_ReferencesAndCharacters(t *testing.T) {
	check(t, []struct{ name, page, want string }{
		{"named, decimal, hexadecimal", "&lt;p&gt; &amp;amp; &#65;&#x42;&eacute;", "<p> &amp; AB\u00e9"},
		{"without a semicolon", "&ltp &copy", "<p \u00a9"},
		{"that are none", "& &; &x; &#; &#x; AT&T", "& &; &x; &#; &#x; AT&T"},
		{"of windows-1252", "&#128;&#146;", "\u20ac\u2019"},
		{"of no character", "&#0;&#xD800;&#x110000;&#99999999999;", "\ufffd\ufffd\ufffd\ufffd"},
		{"white space as one is white space", "a&nbsp;&#10;&#32;b", "a b"},
		{"a tag as one is no tag", "a&lt;br&gt;b", "a<br>b"},
		{"none across tokens", "&am<b>p;", "&amp;"},
		{"in raw text", "<body><textarea>&lt;a&gt;<b></textarea><xmp>&lt;</xmp>", "<a><b>\n&lt;"},
		{"bytes that are not UTF-8", "a\xffb\xe2\x82c\xc3", "a\ufffdb\ufffd\ufffdc\ufffd"},
		{"surrogates and what is too long", "\xed\xa0\x80\xc0\xaf", strings.Repeat("\ufffd", 5)},
		{"a character that a tag divides", "\xc3<b>\xa9", "\ufffd\ufffd"},
		{"a byte order mark at the beginning", "\ufeffa\ufeffb", "a\ufeffb"},
	})
}

func TestO50_XHTML(t *testing.T) {
	const xml = "<?xml version='1.0'?>"
	check(t, []struct{ name, page, want string }{
		{"what closes itself is closed", xml + "<html><head><title/><script src='x'/></head><body>a<p/>b<template/>c</body></html>", "a\nbc"},
		{"what does not is not", xml + "<body>a<script>b</script>c", "ac"},
		{"a CDATA section is text", xml + "<body><![CDATA[a<b]]></body>", "a<b"},
		{"a byte order mark before", "\ufeff" + xml + "<title/>a", "a"},
		{"it has to stand first", " " + xml + "<title/>a", ""},
	})
}

func TestO50_APageIsNotChanged(t *testing.T) {
	for _, seed := range seeds {
		page := []byte(seed)
		Extract(page)
		if string(page) != seed {
			t.Errorf("%q became %q", seed, page)
		}
	}
}

func TestTheTablesFit(t *testing.T) {
	for name := range traits {
		if len(name) > maxName {
			t.Errorf("%s is longer than the longest name", name)
		}
	}
	if len(foreignNames) > len(foreign{}.open) {
		t.Errorf("%d names are counted", len(foreignNames))
	}
	for _, names := range [][]string{blocks, ofHead, dropped, points, outside} {
		if !slices.IsSorted(names) || len(names) != len(slices.Compact(slices.Clone(names))) {
			t.Errorf("not in order, or not once: %q", names)
		}
		if !bytes.Contains([]byte(RuleText()), []byte(list(names))) {
			t.Errorf("the rule text lacks %q", names)
		}
	}
}
