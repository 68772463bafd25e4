package htmlhead

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// options are those of a page at https://o.example/dir/page.
func options(t testing.TB) Options {
	t.Helper()
	page, err := url.Parse("https://o.example/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Page: page, Tokens: []string{"ExampleBot"}}
}

func read(t testing.TB, page string, o Options) *Head {
	t.Helper()
	h, err := Read(strings.NewReader(page), o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// checkRestore holds T118: the extract gives back what it was taken from.
func checkRestore(t testing.TB, h *Head, o Options) {
	t.Helper()
	want := *h
	if h.Extract == nil {
		want.Base = "" // a base alone is not kept
	}
	got := Restore(h.Extract, o)
	if h.Extract == nil {
		got.Base = ""
	}
	if !h.UTF16 && !reflect.DeepEqual(&want, got) {
		t.Fatalf("restored from %q (-want +got):\n%s", h.Extract, cmp.Diff(&want, got))
	}
}

const (
	link = `<link rel=license type=application/rsl+xml href=/l>`
	late = `<link rel=license type=application/rsl+xml href=/late>`
)

// urlsOf are the licences that h names.
func urlsOf(h *Head) (urls []string) {
	for _, l := range h.Licences {
		if l.Script == nil {
			urls = append(urls, l.URL)
		}
	}
	return urls
}

// scriptsOf are those that stand in it.
func scriptsOf(h *Head) (scripts [][]byte) {
	for _, l := range h.Licences {
		if l.Script != nil {
			scripts = append(scripts, l.Script)
		}
	}
	return scripts
}

func TestT66_WhatIsPassedOver(t *testing.T) {
	for _, between := range []string{
		"<!DOCTYPE html>", "<!-- <body> -->", "<!-->", "<!--->", "<!--a--!>", "<!-- -- > --!-- x -->", "<?xml version='1.0'?>", "<!x>", "</>", "</ x>", "</p>", "</body>", "</html>",
		" \t\r\n\f", "<html lang=en>", "<HEAD >", "<title>a <body> </titlex> </title>", "<TITLE></title >", "<style>p > a {}</style>", "<script>if (a < b) '<body>'</script>",
		"<script><!-- <script> </script> <body> --></script>", "<script><!--<script></script</script>--></script>", "<script><!--></script>", "<script><!-- <script></script> --> </script>",
		"<noscript><img src=x></noscript>", "<template><body><p>text</head></template>", "<template><template></template>x</template>", "<template><title></template></title>x</template>",
		"<template><textarea></template></textarea><xmp></template></xmp></template>", "</template>", `<meta name="a>b" content='>'>`, "<base>", "<link/>", "<meta a=b/>", "<meta =a= '>'>", `<meta x="a"y='>'/ / z>`, "<head/>",
	} {
		t.Run(between, func(t *testing.T) {
			h := read(t, between+link+"<p>"+late, options(t))
			if diff := cmp.Diff([]string{"https://o.example/l"}, urlsOf(h)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			checkRestore(t, h, options(t))
		})
	}
}

// A stalled reader yields what it was given, octet by octet, and fails the test
// if it is asked for more.
type stalled struct {
	t    *testing.T
	rest string
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.rest == "" {
		s.t.Error("read on behind the octet that ends the head")
		return 0, io.EOF
	}
	n := copy(p[:1], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func TestT66_TheHeadEndsAtTheOctetThatSaysSo(t *testing.T) {
	for _, last := range []string{
		"</head>", "</HEAD ", "</head/", "<bo", "<BO", "<d", "<p", "<i", "<titl>", "<linkx", "<metadata"[:6], "<basef", "<frame"[:2], "<scripts", "x", "\u00a0"[:1], "\x00", "&", "<>", "< ", "<1", "<<",
	} {
		for _, before := range []string{"", link, "<title>t</title>\n", "<template></template>", "<!---->", "<html><head>"} {
			t.Run(before+last, func(t *testing.T) {
				if before == "" && last == "\x00" {
					before = " " // else it may be the first half of a character
				}
				r := &stalled{t, before + last}
				h, err := Read(r, options(t))
				if err != nil || r.rest != "" {
					t.Errorf("stopped before %q, %v", r.rest, err)
				}
				if (before == link) != (len(urlsOf(h)) == 1) {
					t.Errorf("licences %q", urlsOf(h))
				}
			})
		}
	}
}

func TestT66_WhatDoesNotEndTheHead(t *testing.T) {
	for _, middle := range []string{"</header>", "</hea>", "<template></head></template>", "<!--</head>-->", "<script></head></script>"} {
		if h := read(t, middle+link, options(t)); len(urlsOf(h)) != 1 {
			t.Errorf("%s ended the head", middle)
		}
	}
}

func TestT66_NothingBehindTheBoundIsRead(t *testing.T) {
	for _, tt := range []struct {
		name     string
		page     string
		licences int
		unread   int
	}{
		{"a link that ends with the bound", strings.Repeat(" ", MaxBytes-len(link)) + link, 1, 0},
		{"a link that ends behind it", strings.Repeat(" ", MaxBytes-len(link)+1) + link, 0, 0},
		{"a script that ends with it", script(strings.Repeat("x", MaxBytes-len(script("")))), 0, 0},
		{"a script that ends behind it", script(strings.Repeat("x", MaxBytes-len(script(""))+1)), 0, 1},
		{"a script whose tag the bound cuts", strings.Repeat(" ", MaxBytes-len(script("x"))+len("x></script>")) + script("x"), 0, 1},
		{"a script whose type the bound cuts", strings.Repeat(" ", MaxBytes-20) + script("x"), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := strings.NewReader(tt.page + late)
			h, err := Read(r, options(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(urlsOf(h)) != tt.licences || h.Unread != tt.unread {
				t.Errorf("licences %q, %d unread", urlsOf(h), h.Unread)
			}
			if taken := len(tt.page) + len(late) - r.Len(); taken != MaxBytes {
				t.Errorf("took %d octets", taken)
			}
			checkRestore(t, h, options(t))
		})
	}
}

func script(text string) string {
	return `<script type="application/rsl+xml">` + text + `</script>`
}

func TestT67_LinksThatNameALicence(t *testing.T) {
	named := func(attributes string) string {
		return "<link rel=license type=application/rsl+xml " + attributes + ">"
	}
	for _, tt := range []struct {
		name     string
		head     string
		licences []string
		unread   int
	}{
		{"a type with parameters", `<link rel="license" type=" application/rsl+xml ; v=1" href=/l>`, []string{"/l"}, 0},
		{"licenses is not license", `<link rel="licenses" type="application/rsl+xml" href=/l>`, nil, 0},
		{"of a repeated attribute the first counts", named("href=/a href=/b rel=x"), []string{"/a"}, 0},
		{"each once", named("href=/l") + named("href='https://o.example/l'") + named("href=/l"), []string{"/l"}, 0},
		{"a character reference in the type", `<link rel=license type=application&#47;rsl&plus;xml href=/l>`, []string{"/l"}, 0},
		{"white space in and round the reference", named("href=' /a\n\tb '"), []string{"/ab"}, 0},
		{"UTF-8 and a space are percent-encoded", named("href='/é f?g=é h'"), []string{"/%C3%A9%20f?g=%C3%A9%20h"}, 0},
		{"an octet that is not UTF-8", named("href='/\xe9'"), nil, 1},
		{"no reference", named(""), nil, 1},
		{"an empty one", named("href=' '"), nil, 1},
		{"no URL", named("href='http://[x'"), nil, 1},
		{"no host", named("href='https:///x'"), nil, 1},
		{"a port that is none", named("href='https://e.example:99999/'"), nil, 1},
		{"the base holds for what stands before it", named("href=l") + "<base href=/b/>", []string{"/b/l"}, 0},
		{"the first base with a reference counts", "<base target=x><base href=b/><base href=c/>" + named("href=l"), []string{"/dir/b/l"}, 0},
		{"a base that is no URL does not count", "<base href='http://[x'>" + named("href=l"), []string{"/dir/l"}, 0},
		{"nor one of data", "<base href='data:,x'>" + named("href=l"), []string{"/dir/l"}, 0},
		{"a base of another scheme", "<base href='ftp://e.example/'>" + named("href=l"), nil, 1},
		{"a tag without its end", link[:len(link)-1], nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := read(t, tt.head, options(t))
			var want []string
			for _, l := range tt.licences {
				want = append(want, "https://o.example"+l)
			}
			if diff := cmp.Diff(want, urlsOf(h)); diff != "" || h.Unread != tt.unread {
				t.Errorf("%d unread, want %d; -want +got:\n%s", h.Unread, tt.unread, diff)
			}
			checkRestore(t, h, options(t))
		})
	}
}

func TestT67_NoMoreLicencesThanABound(t *testing.T) {
	var b strings.Builder
	for i := range MaxLicences + 2 {
		fmt.Fprintf(&b, "<link rel=license type=application/rsl+xml href=%d>", i)
	}
	h := read(t, b.String(), options(t))
	if len(urlsOf(h)) != MaxLicences || h.Unread != 2 {
		t.Errorf("%d licences, %d unread", len(urlsOf(h)), h.Unread)
	}
	checkRestore(t, h, options(t))
}

func TestT67_ScriptsComeBackOctetForOctet(t *testing.T) {
	for _, text := range []string{
		"", "<?xml version=\"1.0\"?><rsl/>", "\r\n<rsl/>\r\n", "\xef\xbb\xbf<rsl/>", "\x00\xff&amp;", "<rsl></rsl", "</scriptx", "</script", "<!--<script", "<!--<script></script>-->", "\n", "<!-",
	} {
		t.Run(text, func(t *testing.T) {
			h := read(t, script(text)+link, options(t))
			if len(scriptsOf(h)) != 1 || h.Licences[0].URL != "" || string(scriptsOf(h)[0]) != text || len(urlsOf(h)) != 1 {
				t.Errorf("scripts %q, licences %q", scriptsOf(h), urlsOf(h))
			}
			checkRestore(t, h, options(t))
			h = read(t, "<script type='Application/RSL+XML; x'>"+text, options(t))
			if len(scriptsOf(h)) != 0 || h.Unread != 1 {
				t.Errorf("begun and not ended: %q, %d unread", scriptsOf(h), h.Unread)
			}
			checkRestore(t, h, options(t))
		})
	}
}

func TestT67_MetasThatAreKept(t *testing.T) {
	h := read(t, `<meta content="noai &amp; x" NAME=" Robots "><meta name=examplebot content=a><META name=tdm-policy content=p><meta name=robots>
		<meta name=googlebot content=noai><meta name content=x><meta property=robots content=noai><template><meta name=robots content=t></template>`, options(t))
	want := []Meta{{"robots", "noai & x"}, {"examplebot", "a"}, {"tdm-policy", "p"}, {"robots", ""}}
	if diff := cmp.Diff(want, h.Metas); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	checkRestore(t, h, options(t))
}

func TestT67_InXMLATagClosesItself(t *testing.T) {
	page := `<?xml version="1.0"?><html><head><title/><script src="x"/><template/>` + link + `<meta name=robots content=a/></head>`
	o := options(t)
	if h := read(t, page, o); len(urlsOf(h)) != 0 {
		t.Errorf("in HTML: %q", urlsOf(h))
	}
	o.XML = true
	h := read(t, page, o)
	if len(urlsOf(h)) != 1 || len(h.Metas) != 1 || h.Metas[0].Content != "a/" {
		t.Errorf("in XML: %q, %q", urlsOf(h), h.Metas)
	}
	checkRestore(t, h, o)
}

func TestT68_APageInUTF16IsNotSeen(t *testing.T) {
	for _, begin := range []string{"\xff\xfe<\x00", "\xfe\xff\x00<", "<\x00h\x00", "\x00<\x00h"} {
		h := read(t, begin+link, options(t))
		if diff := cmp.Diff(&Head{UTF16: true}, h); diff != "" {
			t.Errorf("%q: -want +got:\n%s", begin, diff)
		}
	}
	for _, begin := range []string{"\xef\xbb\xbf", "\xef\xbb\xbf ", ""} {
		if h := read(t, begin+link, options(t)); len(urlsOf(h)) != 1 || h.UTF16 {
			t.Errorf("%q: %+v", begin, h)
		}
	}
	for _, begin := range []string{"\xef\xbb", "\xff", "\xfe", "\x00 ", "\xef\xbb\xbf\xef\xbb\xbf"} {
		if h := read(t, begin+link, options(t)); len(urlsOf(h)) != 0 || h.UTF16 {
			t.Errorf("text %q: %+v", begin, h)
		}
	}
}

func TestT66T68_KindsByContentType(t *testing.T) {
	for contentType, want := range map[string]Kind{
		"text/html": HTML, "TEXT/HTML ;charset=x": HTML, "text/html;": HTML, "application/xhtml+xml": XHTML,
		"text/html; charset=UTF-16": Unseen, `text/html; a=b; Charset="utf-16le"`: Unseen, "application/xhtml+xml;charset=unicode": Unseen,
		"text/html; charset=utf-8; charset=utf-16": HTML, "": Other, "text/plain": Other, "application/xml": Other, "text/htmlx": Other, "application/json; charset=utf-16": Other,
	} {
		if got := KindOf(contentType); got != want {
			t.Errorf("%q is of kind %d, want %d", contentType, got, want)
		}
	}
}

func TestT118_TheExtractIsTheTagsAsTheyStood(t *testing.T) {
	h := read(t, `<!doctype html><title>t</title><BASE HREF="/b/" ><meta charset=utf-8><meta name="robots" content="noai"/><link rel=icon href=x>`+
		`<LINK rel=license   type=application/rsl+xml href=l>`+script("<rsl/>")+"<script>x</script><p>", options(t))
	want := `<BASE HREF="/b/" >` + "\n" + `<meta name="robots" content="noai"/>` + "\n" + `<LINK rel=license   type=application/rsl+xml href=l>` + "\n" + script("<rsl/>") + "\n"
	if diff := cmp.Diff(want, string(h.Extract)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if h := read(t, "<base href=/b/><title>t</title>", options(t)); h.Extract != nil || h.Base != "https://o.example/b/" {
		t.Errorf("of a base alone: %+v", h)
	}
}

func TestT66_AFaultOfTheReaderComesWithWhatWasRead(t *testing.T) {
	broken := errors.New("broken")
	h, err := Read(io.MultiReader(strings.NewReader(link), iotest.ErrReader(broken)), options(t))
	if !errors.Is(err, broken) || len(urlsOf(h)) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	h, err = Read(io.MultiReader(strings.NewReader(link+"<body>"), iotest.ErrReader(broken)), options(t))
	if err != nil || len(urlsOf(h)) != 1 {
		t.Errorf("behind the head: %+v, %v", h, err)
	}
	if _, err = Read(silent{}, options(t)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("of a reader that gives nothing: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }
