package htmlhead

import (
	"bytes"
	"io"
	"strings"
)

// whiteSpace is what HTML calls ASCII white space.
const whiteSpace = " \t\n\f\r"

// headNames are the elements that a head may have without ending (T66).
var headNames = []string{"html", "head", "base", "link", "meta", "noscript", "script", "style", "template", "title"}

// An element is a start tag of the head and, of a script, what stands in it.
type element struct {
	name  string
	tag   []byte // the start tag as it stands
	text  []byte // of a script
	whole []byte // all of it, a script's end tag included
	ended bool   // the tag, and of a script the end tag, is complete
}

// A scanner takes a head apart as the HTML standard's tokenizer would (section
// 13.2.5). It looks at one octet after the other and reads on only when it has
// none left and needs one, so whatever octet tells that the head has ended is the
// last one it looks at.
type scanner struct {
	r     io.Reader
	limit int
	xml   bool
	buf   []byte // all that was read; octets in it never change
	pos   int    // the next octet to look at
	err   error  // why there is no more: io.EOF at the end and at the limit

	templates int  // open template elements
	isUTF16   bool // the first octets are of UTF-16
}

// next returns the next element of the head, or false when the head has ended or
// there is no more of it.
func (s *scanner) next() (e element, ok bool) {
	for {
		c, ok := s.take()
		switch {
		case !ok:
			return element{}, false
		case c == '<':
			start := s.pos - 1
			e, found, ended := s.markup(start)
			if ended {
				return element{}, false
			}
			if found {
				return e, true
			}
		case !isWhite(c) && s.templates == 0:
			return element{}, false // text
		}
	}
}

// markup takes what the < at start opens.
func (s *scanner) markup(start int) (e element, found, ended bool) {
	c, ok := s.take()
	switch {
	case !ok:
		return e, false, true
	case isLetter(c):
		s.pos--
		return s.startTag(start)
	case c == '/':
		return e, false, s.endTag()
	case c == '!':
		s.declaration()
	case c == '?':
		s.skipTo('>')
	default: // a < that is text
		s.pos--
		return e, false, s.templates == 0
	}
	return e, false, false
}

// startTag takes a start tag and, of an element whose content is no markup, all
// up to its end tag.
func (s *scanner) startTag(start int) (e element, found, ended bool) {
	e.name, ended = s.startName()
	if ended {
		return e, false, true
	}
	var closed bool
	e.ended, closed = s.attributes()
	e.tag = s.buf[start:s.pos]
	inside := s.templates > 0
	if e.ended && !(closed && s.xml) {
		if e.name == "template" {
			s.templates++
		}
		if isRaw(e.name) {
			text := s.pos
			n, ended := s.rawText(e.name)
			e.text, e.ended = s.buf[text:n], ended
		}
	}
	e.whole = s.buf[start:s.pos]
	return e, !inside, false
}

// startName takes the name of a start tag. ended reports that such a tag ends the
// head, or that the name has no end.
func (s *scanner) startName() (name string, ended bool) {
	if s.templates == 0 {
		return s.headName()
	}
	start := s.pos
	for {
		c, ok := s.peek()
		if !ok {
			return "", true
		}
		if isWhite(c) || c == '/' || c == '>' {
			return strings.ToLower(string(s.buf[start:s.pos])), false
		}
		s.pos++
	}
}

// headName takes one of headNames, and gives up at the octet that makes it none
// of them: <body need not be waited for to its end, nor even <bo.
func (s *scanner) headName() (name string, ended bool) {
	fits := uint(1)<<len(headNames) - 1 // a bit for each name that begins like this
	for i := 0; fits != 0; i++ {
		c, ok := s.peek()
		if !ok {
			return "", true
		}
		end := isWhite(c) || c == '/' || c == '>'
		for j, n := range headNames {
			if fits&(1<<j) == 0 {
				continue
			}
			if end && len(n) == i {
				return n, false
			}
			if end || len(n) <= i || n[i] != c|0x20 {
				fits &^= 1 << j
			}
		}
		s.pos++
	}
	return "", true
}

// endTag takes an end tag, its </ taken already, and reports whether it ends the
// head. Like <body, </head need not be waited for to its end.
func (s *scanner) endTag() (ended bool) {
	start := s.pos
	c, ok := s.take()
	if !ok {
		return true
	}
	s.pos--
	if !isLetter(c) {
		s.skipTo('>') // a comment
		return false
	}
	for ok && !isWhite(c) && c != '/' && c != '>' {
		s.pos++
		c, ok = s.peek()
	}
	switch strings.ToLower(string(s.buf[start:s.pos])) {
	case "head":
		if ok && s.templates == 0 {
			return true
		}
	case "template":
		if whole, _ := s.attributes(); whole && s.templates > 0 {
			s.templates--
		}
		return false
	}
	s.attributes()
	return false
}

// take returns the next octet and goes past it.
func (s *scanner) take() (c byte, ok bool) {
	if c, ok = s.peek(); ok {
		s.pos++
	}
	return c, ok
}

// peek returns the next octet, and reads on if there is none.
func (s *scanner) peek() (c byte, ok bool) {
	if s.pos == len(s.buf) && !s.fill() {
		return 0, false
	}
	return s.buf[s.pos], true
}

// skipTo goes behind the next c, or to the end.
func (s *scanner) skipTo(c byte) (found bool) {
	for {
		if i := bytes.IndexByte(s.buf[s.pos:], c); i >= 0 {
			s.pos += i + 1
			return true
		}
		s.pos = len(s.buf)
		if !s.fill() {
			return false
		}
	}
}

// fill reads what the reader has, up to the limit.
func (s *scanner) fill() bool {
	if s.err == nil && len(s.buf) >= s.limit {
		s.err = io.EOF
	}
	for tries := 0; s.err == nil; tries++ {
		if len(s.buf) == cap(s.buf) {
			grown := make([]byte, len(s.buf), min(max(4096, 2*cap(s.buf)), s.limit))
			copy(grown, s.buf)
			s.buf = grown
		}
		var n int
		n, s.err = s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if n > 0 {
			return true
		}
		if s.err == nil && tries == 100 {
			s.err = io.ErrNoProgress
		}
	}
	return false
}

func isWhite(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
