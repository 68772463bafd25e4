package rsl

import "strings"

// maxDepth is how many elements may stand inside each other, the root included
// (T71).
const maxDepth = 64

// An event is what a scanner met.
type event uint8

const (
	atEnd event = iota
	atStart
	atText
	atClose
)

// A scanner reads one XML document event by event and lets through only what is
// well-formed XML 1.0 without a document type and well-formed by Namespaces in
// XML 1.0 (T71). It looks at each octet a bounded number of times.
type scanner struct {
	text string
	pos  int // of the next octet to read

	// The current event.
	at    int         // where it began
	name  name        // of atStart
	attrs []attribute // of atStart; good until the next event
	data  string      // of atText: checked character data as written
	cdata bool        // of atText: data is a CDATA section

	spaces  namespaces
	open    []element // outermost first
	rooted  bool      // the root element has begun
	closing bool      // the element that just began is an empty one
}

// A name is a qualified name as written, in its parts.
type name struct{ raw, prefix, local string }

// An element is one that has begun and not ended.
type element struct {
	raw  string // its name as written
	undo int    // the length of spaces.undo before its declarations
}

// begin checks the document's octets and reads its declaration. text may begin
// with a byte order mark.
func (s *scanner) begin(text string) error {
	*s = scanner{text: text, spaces: newNamespaces(), open: make([]element, 0, maxDepth)}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return xmlFault(kindEncoding, 0) // UTF-16
	}
	if err := checkCharacters(text); err != nil {
		return err
	}
	if strings.HasPrefix(text, "\uFEFF") {
		s.pos = len("\uFEFF")
	}
	return s.declaration()
}

// next reads up to the next event. Comments and processing instructions are none.
func (s *scanner) next() (event, error) {
	if s.closing {
		s.closing = false
		s.leave()
		return atClose, nil
	}
	for {
		s.at = s.pos
		rest := s.text[s.pos:]
		var err error
		switch {
		case rest == "":
			return atEnd, s.finished()
		case rest[0] != '<':
			if err = s.characters(rest); err == nil && len(s.open) > 0 {
				return atText, nil
			}
		case strings.HasPrefix(rest, "<!--"):
			err = s.comment(rest)
		case strings.HasPrefix(rest, "<?"):
			err = s.instruction(rest)
		case strings.HasPrefix(rest, "<![CDATA["):
			return atText, s.section(rest)
		case strings.HasPrefix(rest, "<!"):
			return 0, xmlFault(kindDoctype, s.at)
		case strings.HasPrefix(rest, "</"):
			return atClose, s.endTag()
		default:
			return atStart, s.startTag()
		}
		if err != nil {
			return 0, err
		}
	}
}

// finished checks the end of the document.
func (s *scanner) finished() error {
	switch {
	case len(s.open) > 0:
		return xmlFault(kindUnclosed, s.pos)
	case !s.rooted:
		return xmlFault(kindNoRoot, s.pos)
	}
	return nil
}

// characters reads text up to the next markup. Outside the root only white space
// may stand, and no reference to it.
func (s *scanner) characters(rest string) error {
	if i := strings.IndexByte(rest, '<'); i >= 0 {
		rest = rest[:i]
	}
	s.data, s.cdata = rest, false
	s.pos += len(rest)
	if len(s.open) == 0 {
		for i := range len(rest) {
			if !isSpace(rest[i]) {
				return xmlFault(kindOutside, s.at+i)
			}
		}
		return nil
	}
	if i := strings.Index(rest, "]]>"); i >= 0 {
		return xmlFault(kindText, s.at+i)
	}
	return checkReferences(rest, s.at)
}

// section reads a CDATA section.
func (s *scanner) section(rest string) error {
	if len(s.open) == 0 {
		return xmlFault(kindOutside, s.at)
	}
	data, _, ok := strings.Cut(rest[len("<![CDATA["):], "]]>")
	if !ok {
		return xmlFault(kindMarkup, s.at)
	}
	s.data, s.cdata = data, true
	s.pos += len("<![CDATA[") + len(data) + len("]]>")
	return nil
}

// comment reads a comment. In one, -- may stand only as its end.
func (s *scanner) comment(rest string) error {
	data, after, ok := strings.Cut(rest[len("<!--"):], "--")
	if !ok {
		return xmlFault(kindMarkup, s.at)
	}
	if !strings.HasPrefix(after, ">") {
		return xmlFault(kindComment, s.at)
	}
	s.pos += len("<!--") + len(data) + len("-->")
	return nil
}

// instruction reads a processing instruction. A declaration is none: it stands
// at the start of the document or nowhere.
func (s *scanner) instruction(rest string) error {
	body, _, ok := strings.Cut(rest[len("<?"):], "?>")
	if !ok {
		return xmlFault(kindMarkup, s.at)
	}
	n := ncName(body)
	if n == 0 || n < len(body) && !isSpace(body[n]) || strings.EqualFold(body[:n], "xml") {
		return xmlFault(kindInstruction, s.at)
	}
	s.pos += len("<?") + len(body) + len("?>")
	return nil
}

// endTag reads an end tag, which must be that of the innermost element.
func (s *scanner) endTag() error {
	if len(s.open) == 0 {
		return xmlFault(kindEndTag, s.at)
	}
	rest, ok := strings.CutPrefix(s.text[s.pos+len("</"):], s.open[len(s.open)-1].raw)
	s.pos = len(s.text) - len(rest)
	s.skipSpace()
	if !ok || s.peek() != '>' {
		return xmlFault(kindEndTag, s.at)
	}
	s.pos++
	s.leave()
	return nil
}

// leave ends the innermost element.
func (s *scanner) leave() {
	last := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.spaces.leave(last.undo)
}

// peek returns the next octet, and zero at the end: no document holds a zero.
func (s *scanner) peek() byte {
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// skipSpace passes over white space and reports whether there was any.
func (s *scanner) skipSpace() bool {
	begin := s.pos
	for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
		s.pos++
	}
	return s.pos > begin
}
