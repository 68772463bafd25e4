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
	page = bytes.TrimPrefix(page, []byte("\ufeff"))
	x := &extractor{
		tokens: html.NewTokenizer(bytes.NewReader(page)),
		xml:    bytes.HasPrefix(page, []byte("<?xml")),
		lines:  lines{out: make([]byte, 0, len(page)/2)},
	}
	for x.next() {
	}
	return x.lines.out
}

// An extractor goes through a page once. It keeps of what is open only what
// decides what is text; a tree is not built.
type extractor struct {
	tokens *html.Tokenizer
	xml    bool
	lines  lines

	inBody    bool // the body has begun
	rawDrop   bool // the next token, if it is text, is content that is dropped
	templates int  // open ones
	foreign   foreign
}

// next takes a token, and reports false at the end of the page.
func (x *extractor) next() bool {
	x.tokens.AllowCDATA(x.xml || x.foreign.inside())
	kind := x.tokens.Next()
	rawDrop := x.rawDrop
	x.rawDrop = false
	switch kind {
	case html.ErrorToken:
		return false
	case html.TextToken:
		if !rawDrop && !x.dropping() {
			x.text(x.tokens.Text())
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		x.startTag(kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		x.endTag()
	}
	return true
}

// dropping reports that what comes is the content of an element that is dropped,
// as far as such content can have tags in it.
func (x *extractor) dropping() bool { return x.templates > 0 || x.foreign.open[svg] > 0 }

func (x *extractor) text(text []byte) {
	x.inBody = x.inBody || len(bytes.Trim(text, " \t\n\f\r")) > 0
	x.lines.add(text)
}

func (x *extractor) startTag(closesItself bool) {
	var buf [maxName]byte
	name := tagName(&buf, x.tokens.Raw()[len("<"):])
	is := traits[string(name)]
	if is&htmlOnly != 0 {
		x.foreign.leave()
	}
	root, inside := rootOf(name), x.foreign.inside()
	closed := closesItself && (x.xml || inside || root != none)
	if closed || inside {
		x.tokens.NextIsNotRawText()
	}
	if inside {
		if !closed {
			x.foreign.enter(foreignOf(name))
		}
		return
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
		x.rawDrop = true
	case !x.inBody:
		// Of what may stand in a head these alone have text besides.
		x.rawDrop = string(name) == "title" || string(name) == "noframes"
	}
}

func (x *extractor) endTag() {
	var buf [maxName]byte
	name := tagName(&buf, x.tokens.Raw()[len("</"):])
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
