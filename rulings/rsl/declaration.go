package rsl

import "strings"

// declaration reads the XML declaration if the document has one (XML 1.0,
// production 23).
func (s *scanner) declaration() error {
	begin := s.pos
	rest, ok := strings.CutPrefix(s.text[s.pos:], "<?xml")
	if !ok || rest == "" || !isSpace(rest[0]) {
		return nil // none, or an instruction such as xml-stylesheet
	}
	s.pos += len("<?xml")
	at := s.pos
	version, ok := s.pseudoAttribute("version")
	if !ok {
		return xmlFault(kindDeclaration, begin)
	}
	if version != "1.0" {
		return xmlFault(kindVersion, at)
	}
	at = s.pos
	if encoding, ok := s.pseudoAttribute("encoding"); ok {
		if err := s.checkEncoding(encoding, at); err != nil {
			return err
		}
	}
	if alone, ok := s.pseudoAttribute("standalone"); ok && alone != "yes" && alone != "no" {
		return xmlFault(kindDeclaration, begin)
	}
	s.skipSpace()
	if !strings.HasPrefix(s.text[s.pos:], "?>") {
		return xmlFault(kindDeclaration, begin)
	}
	s.pos += len("?>")
	return nil
}

// checkEncoding holds the document to the encoding that it declares.
func (s *scanner) checkEncoding(encoding string, at int) error {
	switch {
	case strings.EqualFold(encoding, "UTF-8"):
		return nil
	case !strings.EqualFold(encoding, "US-ASCII"):
		return xmlFault(kindEncoding, at)
	}
	if i := strings.IndexFunc(s.text, func(r rune) bool { return r > '\x7f' }); i >= 0 {
		return xmlFault(kindNotASCII, i)
	}
	return nil
}

// pseudoAttribute reads white space and name="value" if they come next; else it
// reads nothing.
func (s *scanner) pseudoAttribute(name string) (value string, ok bool) {
	begin := s.pos
	if s.skipSpace() && strings.HasPrefix(s.text[s.pos:], name) {
		s.pos += len(name)
		if value, ok = s.quoted(); ok {
			return value, true
		}
	}
	s.pos = begin
	return "", false
}

// quoted reads an equals sign, with or without white space round it, and what
// stands between the quotes behind it.
func (s *scanner) quoted() (value string, ok bool) {
	s.skipSpace()
	if s.peek() != '=' {
		return "", false
	}
	s.pos++
	s.skipSpace()
	quote := s.peek()
	if quote != '"' && quote != '\'' {
		return "", false
	}
	n := strings.IndexByte(s.text[s.pos+1:], quote)
	if n < 0 {
		return "", false
	}
	value = s.text[s.pos+1 : s.pos+1+n]
	s.pos += 1 + n + 1
	return value, true
}
