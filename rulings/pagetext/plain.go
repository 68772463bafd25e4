package pagetext

import (
	"bytes"

	"golang.org/x/net/html"
)

// plain takes what whoever reads HTML reads the same: text, comments, and tags
// with attributes that are written as nearly all are. It ends where the page does
// or where something else begins, which is left to the tokenizer. Of most pages it
// takes most, many times as fast.
func (x *extractor) plain() {
	for !x.special() && len(x.rest) > 0 {
		size := bytes.IndexByte(x.rest, '<')
		switch {
		case size < 0:
			size = len(x.rest)
			fallthrough
		case size > 0:
			x.plainText(x.rest[:size])
		case len(x.rest) > 1 && x.rest[1] == '!':
			size = declarationLength(x.rest)
		default:
			size = x.plainTag()
		}
		if size == 0 {
			return
		}
		x.rest = x.rest[size:]
	}
}

// plainTag takes the tag that comes next, with the content that is raw text and
// dropped, and returns the length of both, or 0 if that is for the tokenizer.
func (x *extractor) plainTag() int {
	start := len("<")
	end := bytes.HasPrefix(x.rest, []byte("</"))
	if end {
		start = len("</")
	}
	size := tagLength(x.rest, start)
	if size == 0 {
		return 0
	}
	var buf [maxName]byte
	name := tagName(&buf, x.rest[start:])
	if end {
		x.endTag(name)
		return size
	}
	switch string(name) {
	case "script", "style", "noscript", "title":
		raw := rawLength(x.rest[size:], name)
		if raw < 0 || x.inBody && string(name) == "title" {
			return 0
		}
		size += raw
	case "iframe", "math", "noembed", "noframes", "plaintext", "svg", "textarea", "xmp":
		return 0 // other rules hold in them
	}
	x.startTag(name, false)
	return size
}

// rawLength returns the length of the raw text that page begins with, up to the end
// tag of that name, or -1 if there is none or a script has what can hide it.
func rawLength(page, name []byte) int {
	for n := 0; ; n++ {
		i := bytes.IndexByte(page[n:], '<')
		if i < 0 {
			return -1
		}
		n += i
		switch after := page[n+1:]; {
		case bytes.HasPrefix(after, []byte("!")) && string(name) == "script":
			return -1
		case len(after) > 1+len(name) && after[0] == '/' && bytes.EqualFold(after[1:1+len(name)], name) && endsName(after[1+len(name)]):
			return n
		}
	}
}

func (x *extractor) plainText(text []byte) {
	for !x.dropping() {
		n := bytes.IndexByte(text, '&')
		if n < 0 {
			x.text(text)
			return
		}
		x.text(text[:n])
		text = text[n:]
		n = referenceLength(text)
		x.text([]byte(html.UnescapeString(string(text[:n]))))
		text = text[n:]
	}
}

// referenceLength returns how much of text, which begins with an ampersand, may be
// a character reference.
func referenceLength(text []byte) int {
	n := len("&")
	if n < len(text) && text[n] == '#' {
		n++
	}
	for n < len(text) && (isLetter(text[n]) || isFigure(text[n])) {
		n++
	}
	if n < len(text) && text[n] == ';' {
		n++
	}
	return n
}

// tagLength returns the length of the tag that page begins with and whose name is
// at start, or 0 if it is not written plainly: a name, attributes behind white
// space, with their values right behind the equals sign, and at most a slash.
func tagLength(page []byte, start int) int {
	i := start
	if i == len(page) || !isLetter(page[i]) {
		return 0
	}
	for i < len(page) && !endsName(page[i]) {
		i++
	}
	for {
		for i < len(page) && isSpace(page[i]) {
			i++
		}
		if i < len(page) && page[i] == '>' {
			return i + len(">")
		}
		if i+1 < len(page) && page[i] == '/' && page[i+1] == '>' {
			return i + len("/>")
		}
		n := attributeLength(page[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
}

// attributeLength returns the length of the attribute that text begins with, or 0
// if it is not written plainly or white space or the end of a tag is not next.
func attributeLength(text []byte) int {
	i := wordLength(text)
	if i == 0 || i+1 >= len(text) {
		return 0
	}
	if text[i] == '=' {
		i++
		n := wordLength(text[i:])
		if quote := text[i]; quote == '"' || quote == '\'' {
			length := bytes.IndexByte(text[i+1:], quote)
			if length < 0 {
				return 0
			}
			n = length + len(`""`)
		}
		if n == 0 {
			return 0
		}
		i += n
	}
	if i == len(text) || !endsName(text[i]) {
		return 0
	}
	return i
}

// wordLength returns the length of the letters, figures and what joins them that
// text begins with.
func wordLength(text []byte) int {
	i := 0
	for i < len(text) && (isLetter(text[i]) || isFigure(text[i]) || text[i] == '-' || text[i] == '_' || text[i] == ':') {
		i++
	}
	return i
}

// declarationLength returns the length of the usual doctype or the comment that
// page begins with, or 0 if it is neither, or a comment that ends in another way
// than with the first two hyphens in it.
func declarationLength(page []byte) int {
	const doctype, start, end = "<!doctype html>", "<!--", "-->"
	if len(page) >= len(doctype) && bytes.EqualFold(page[:len(doctype)], []byte(doctype)) {
		return len(doctype)
	}
	content, found := bytes.CutPrefix(page, []byte(start))
	if !found || bytes.HasPrefix(content, []byte(">")) || bytes.HasPrefix(content, []byte("->")) {
		return 0
	}
	n := bytes.Index(content, []byte("--"))
	if n < 0 || !bytes.HasPrefix(content[n:], []byte(end)) {
		return 0
	}
	return len(start) + n + len(end)
}

func isFigure(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func endsName(c byte) bool { return c == '/' || c == '>' || isSpace(c) }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }
