package rsl

import "strings"

// An attribute is one of a start tag. Declarations of namespaces are attributes
// too, of xmlnsSpace.
type attribute struct {
	name  name
	space space
	value string // as written
	at    int
}

// startTag reads a start tag or an empty element. Of the latter it is the start;
// the end comes as the next event.
func (s *scanner) startTag() error {
	switch {
	case len(s.open) == 0 && s.rooted:
		return xmlFault(kindSecondRoot, s.at)
	case len(s.open) == maxDepth:
		return xmlFault(kindDepth, s.at)
	}
	s.pos++
	var ok bool
	if s.name, ok = s.qualifiedName(); !ok {
		return xmlFault(kindName, s.at)
	}
	if err := s.attributes(); err != nil {
		return err
	}
	s.open = append(s.open, element{s.name.raw, len(s.spaces.undo)})
	s.rooted = true
	return s.resolve()
}

// attributes reads the rest of a start tag.
func (s *scanner) attributes() error {
	s.attrs = s.attrs[:0]
	for {
		spaced := s.skipSpace()
		switch c := s.peek(); {
		case c == '>':
			s.pos++
			return nil
		case c == '/' && strings.HasPrefix(s.text[s.pos:], "/>"):
			s.pos += len("/>")
			s.closing = true
			return nil
		case c == 0:
			return xmlFault(kindMarkup, s.at)
		case !spaced:
			return xmlFault(kindAttribute, s.pos)
		}
		if err := s.attribute(); err != nil {
			return err
		}
	}
}

func (s *scanner) attribute() error {
	a := attribute{at: s.pos}
	var ok bool
	if a.name, ok = s.qualifiedName(); !ok {
		return xmlFault(kindName, a.at)
	}
	if a.value, ok = s.quoted(); !ok {
		return xmlFault(kindAttribute, a.at)
	}
	begin := s.pos - len(`"`) - len(a.value)
	if i := strings.IndexByte(a.value, '<'); i >= 0 {
		return xmlFault(kindAttribute, begin+i)
	}
	s.attrs = append(s.attrs, a)
	return checkReferences(a.value, begin)
}

// qualifiedName reads a name with at most one prefix (Namespaces in XML 1.0,
// production 7). What may follow it is for the caller to check.
func (s *scanner) qualifiedName() (name, bool) {
	begin := s.pos
	n := ncName(s.text[s.pos:])
	if n == 0 {
		return name{}, false
	}
	s.pos += n
	q := name{local: s.text[begin:s.pos]}
	if s.peek() == ':' {
		n := ncName(s.text[s.pos+1:])
		if n == 0 {
			return name{}, false
		}
		q.prefix, q.local = q.local, s.text[s.pos+1:s.pos+1+n]
		s.pos += 1 + n
	}
	q.raw = s.text[begin:s.pos]
	return q, true
}

// resolve takes the declarations of the start tag just read, then looks up what
// its prefixes stand for, and finds duplicate attributes.
func (s *scanner) resolve() error {
	for i := range s.attrs {
		a := &s.attrs[i]
		var prefix string
		switch {
		case a.name.prefix == "xmlns":
			prefix = a.name.local
		case a.name.raw == "xmlns":
		default:
			continue
		}
		a.space = xmlnsSpace
		if !s.spaces.declare(prefix, attributeText(a.value)) {
			return xmlFault(kindNamespace, a.at)
		}
	}
	if _, ok := s.spaces.bound[s.name.prefix]; !ok {
		return xmlFault(kindPrefix, s.at)
	}
	for i := range s.attrs {
		a := &s.attrs[i]
		if a.name.prefix == "" || a.space == xmlnsSpace {
			continue // the default namespace is not for attributes
		}
		var ok bool
		if a.space, ok = s.spaces.bound[a.name.prefix]; !ok {
			return xmlFault(kindPrefix, a.at)
		}
	}
	return s.checkDuplicates()
}

// few is how many attributes are compared with each other; more go through a map.
const few = 16

// checkDuplicates finds two attributes of one name, whatever their prefixes.
func (s *scanner) checkDuplicates() error {
	type key struct {
		space space
		local string
	}
	var seen map[key]bool
	if len(s.attrs) > few {
		seen = make(map[key]bool, len(s.attrs))
	}
	for i := range s.attrs {
		a := &s.attrs[i]
		duplicate := false
		if seen == nil {
			for _, b := range s.attrs[:i] {
				duplicate = duplicate || a.space == b.space && a.name.local == b.name.local
			}
		} else {
			duplicate = seen[key{a.space, a.name.local}]
			seen[key{a.space, a.name.local}] = true
		}
		if duplicate {
			return xmlFault(kindDuplicate, a.at)
		}
	}
	return nil
}

// space returns the namespace of the element that just began.
func (s *scanner) space() space { return s.spaces.bound[s.name.prefix] }

// attr returns the value of the unprefixed attribute local of the element that
// just began (T72).
func (s *scanner) attr(local string) (value string, ok bool) {
	for i := range s.attrs {
		if a := &s.attrs[i]; a.space == noSpace && a.name.local == local {
			return attributeText(a.value), true
		}
	}
	return "", false
}
