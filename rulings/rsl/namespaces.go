package rsl

// Namespace is that of RSL documents of every version (T72).
const Namespace = "https://rslstandard.org/rsl"

const (
	xmlURI   = "http://www.w3.org/XML/1998/namespace"
	xmlnsURI = "http://www.w3.org/2000/xmlns/"
)

// A space stands for a namespace name. Names are compared once, when they are
// declared: a long one could else be made to be compared for each attribute.
type space uint32

const (
	noSpace space = iota
	xmlSpace
	xmlnsSpace // of the declarations themselves
	rslSpace
	firstOtherSpace
)

// namespaces is what prefixes stand for at one place of a document (Namespaces
// in XML 1.0). The empty prefix is the default namespace.
type namespaces struct {
	bound  map[string]space
	others map[string]space // by name, all but those above
	undo   []rebinding      // innermost last
}

// A rebinding is what a prefix stood for before a declaration.
type rebinding struct {
	prefix string
	was    space
	bound  bool
}

func newNamespaces() namespaces {
	return namespaces{bound: map[string]space{"": noSpace, "xml": xmlSpace}}
}

// declare binds prefix to the namespace uri names, until leave. It reports
// whether section 3 of the standard lets it.
func (n *namespaces) declare(prefix, uri string) bool {
	if prefix == "xmlns" || uri == xmlnsURI || (prefix == "xml") != (uri == xmlURI) || prefix != "" && uri == "" {
		return false
	}
	was, bound := n.bound[prefix]
	n.undo = append(n.undo, rebinding{prefix, was, bound})
	n.bound[prefix] = n.space(uri)
	return true
}

func (n *namespaces) space(uri string) space {
	switch uri {
	case "":
		return noSpace
	case xmlURI:
		return xmlSpace
	case Namespace:
		return rslSpace
	}
	s, ok := n.others[uri]
	if !ok {
		if n.others == nil {
			n.others = make(map[string]space)
		}
		s = firstOtherSpace + space(len(n.others))
		n.others[uri] = s
	}
	return s
}

// leave takes back the declarations made since undo had the length mark.
func (n *namespaces) leave(mark int) {
	for len(n.undo) > mark {
		last := n.undo[len(n.undo)-1]
		n.undo = n.undo[:len(n.undo)-1]
		if last.bound {
			n.bound[last.prefix] = last.was
		} else {
			delete(n.bound, last.prefix)
		}
	}
}
