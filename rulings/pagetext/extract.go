package pagetext

import (
	"bytes"

	"golang.org/x/net/html"
)

// MaxGrowth is how many times the length of a page its text can have: a byte that
// is not UTF-8 becomes a character of three.
const MaxGrowth = 3

// Extract returns the text of an HTML page as UTF-8, in lines joined by one line
// feed; that of a page without text is empty and not nil. It has at most MaxGrowth
// times the length of the page. No page is an error, and none is changed. Time and
// memory are linear in the page, whatever it is.
func Extract(page []byte) []byte {
	x := newExtractor(page)
	for x.plain(); len(x.rest) > 0; x.plain() {
		x.tokens(worthATokenizer)
	}
	return x.lines.out
}

// worthATokenizer is how many bytes a tokenizer reads at least, so that a page
// which gives many occasions for one takes hardly longer than one tokenizer would.
const worthATokenizer = 1024

// An extractor goes through a page once. It keeps of what is open only what
// decides what is text; a tree is not built.
type extractor struct {
	rest  []byte // of the page
	xml   bool
	lines lines

	inBody    bool // the body has begun
	templates int  // open ones
	foreign   foreign
}

func newExtractor(page []byte) *extractor {
	page = bytes.TrimPrefix(page, []byte("\ufeff"))
	return &extractor{
		rest:  page,
		xml:   bytes.HasPrefix(page, []byte("<?xml")),
		lines: lines{out: make([]byte, 0, len(page)/2)},
	}
}

// tokens goes on with a tokenizer, for so many bytes and then to the end of the
// page or to where plain can go on.
func (x *extractor) tokens(atLeast int) {
	z := html.NewTokenizer(bytes.NewReader(x.rest))
	read, start, drop := 0, true, false
	for start || x.special() || read < atLeast {
		z.AllowCDATA(x.xml || x.foreign.inside())
		kind := z.Next()
		raw := z.Raw()
		read += len(raw)
		x.rest = x.rest[len(raw):]
		dropped := drop
		start, drop = false, false
		var buf [maxName]byte
		switch kind {
		case html.ErrorToken:
			x.rest = nil
			return
		case html.TextToken:
			if !dropped && !x.dropping() {
				x.text(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			var markup bool
			start = true
			markup, drop = x.startTag(tagName(&buf, raw[len("<"):]), kind == html.SelfClosingTagToken)
			if markup {
				z.NextIsNotRawText()
			}
		case html.EndTagToken:
			x.endTag(tagName(&buf, raw[len("</"):]))
		}
	}
}

// special reports that other rules hold than in a page of HTML outside svg and math.
func (x *extractor) special() bool { return x.xml || len(x.foreign.stack) > 0 }

// dropping reports that what comes is the content of an element that is dropped,
// as far as such content can have tags in it.
func (x *extractor) dropping() bool { return x.templates > 0 || x.foreign.open[svg] > 0 }

func (x *extractor) text(text []byte) {
	x.inBody = x.inBody || len(bytes.Trim(text, " \t\n\f\r")) > 0
	x.lines.add(text)
}

// startTag reports that the content is no raw text, whatever the element, and that
// the next token, if it is text, is content that is dropped.
func (x *extractor) startTag(name []byte, closesItself bool) (markup, dropText bool) {
	is := traits[string(name)]
	if is&htmlOnly != 0 {
		x.foreign.leave()
	}
	root, inside := rootOf(name), x.foreign.inside()
	closed := closesItself && (x.xml || inside || root != none)
	if inside {
		if !closed {
			x.foreign.enter(foreignOf(name))
		}
		return true, false
	}
	if !x.dropping() {
		x.inBody = x.inBody || is&head == 0
		x.breakAt(is)
	}
	switch {
	case closed:
	case root != none:
		x.foreign.enter(root)
	case string(name) == "template":
		x.templates++
	case is&drop != 0:
		dropText = true
	case !x.inBody:
		// Of what may stand in a head these alone have text besides.
		dropText = string(name) == "title" || string(name) == "noframes"
	}
	return closed, dropText
}

func (x *extractor) endTag(name []byte) {
	is := traits[string(name)]
	if x.foreign.leaveElement(foreignOf(name)) {
		return
	}
	ofTemplate := string(name) == "template" && x.templates > 0
	if x.foreign.inside() {
		if is&(htmlOnly|block) == 0 && !ofTemplate {
			return
		}
		x.foreign.leave()
	}
	if ofTemplate {
		x.templates--
	}
	if x.dropping() {
		return
	}
	switch string(name) {
	case "body", "br", "html": // the end tags that begin a body (13.2.6.4.4)
		x.inBody = true
	}
	x.breakAt(is)
}

func (x *extractor) breakAt(is trait) {
	if is&block != 0 {
		x.lines.end()
	}
}

// tagName returns in lower case the name that a tag begins with, or nothing if it
// is longer than those that matter.
func tagName(buf *[maxName]byte, tag []byte) []byte {
	for i, c := range tag {
		switch c {
		case ' ', '\t', '\n', '\f', '\r', '/', '>':
			return buf[:i]
		}
		if i == len(buf) {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return nil
}
