package htmlhead

import (
	"bytes"

	"golang.org/x/net/html"
)

// attributes are the values of a tag that matter here, character references
// resolved.
type attributes struct {
	rel, mediaType, href, name, content string
	hasHref                             bool
}

// An attributeReader reads the attributes of one start tag after the other, with
// one tokenizer for all: it has a buffer that would be dear to make for each.
type attributeReader struct {
	tag bytes.Reader
	z   *html.Tokenizer
}

// read returns the attributes of tag. Of one that lacks its end it returns those
// before the cut, a value that was cut included.
func (r *attributeReader) read(tag []byte) attributes {
	if tag[len(tag)-1] == '>' {
		if a, ok := r.try(tag); ok {
			return a
		}
	}
	for _, end := range []string{">", `">`, `'>`} {
		if a, ok := r.try(append(bytes.Clone(tag), end...)); ok {
			return a
		}
	}
	return attributes{}
}

func (r *attributeReader) try(tag []byte) (a attributes, ok bool) {
	r.tag.Reset(tag)
	if r.z == nil {
		r.z = html.NewTokenizer(&r.tag)
	}
	if t := r.z.Next(); t != html.StartTagToken && t != html.SelfClosingTagToken {
		r.z = nil // an error of a tokenizer stays with it
		return a, false
	}
	r.z.NextIsNotRawText()
	for {
		key, value, more := r.z.TagAttr()
		switch string(key) {
		case "rel":
			a.rel = string(value)
		case "type":
			a.mediaType = string(value)
		case "href":
			a.href, a.hasHref = string(value), true
		case "name":
			a.name = string(value)
		case "content":
			a.content = string(value)
		}
		if !more {
			return a, true
		}
	}
}
