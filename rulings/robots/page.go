package robots

import (
	"slices"
	"strings"
)

// MaxReadings bounds the spellings in which one path is ruled, the one that was
// sent included (specs: terms T37).
const MaxReadings = 64

// A Page is the target of one request in every reading that a server may give it
// (specs: terms T35 to T38). It is a value for one request: terms that speak
// about paths rule each reading, and the strictest answer holds.
type Page struct {
	readings  []string
	one       [1]string // backs readings when there is one, which is nearly always
	length    int64     // octets of all readings
	overLimit bool
	document  bool
}

// NewPage reads target, the path and query of a request as sent. A path that no
// server reads in two ways costs one allocation.
func NewPage(target string) *Page {
	target = wholeTarget(target)
	p := &Page{document: isDocument(target)}
	path, query := splitQuery(target)
	if isPlain(path) {
		p.one[0] = Form(target)
		p.readings = p.one[:]
	} else {
		p.read(path, query)
	}
	for _, r := range p.readings {
		p.length += int64(len(r))
	}
	return p
}

// OverLimit reports that the path has more than MaxReadings readings, so that
// it cannot be ruled and is refused, whatever the terms say (T37).
func (p *Page) OverLimit() bool { return p.overLimit }

// Readings returns the forms of all readings, the one of the target as sent
// first. The caller must not change them.
func (p *Page) Readings() []string { return p.readings }

// isDocument reports whether target is one of the documents in which an origin
// states its terms: access to them is never ruled (T11). Only the plain spelling
// without a query is; //robots.txt is a page.
func isDocument(target string) bool {
	return target == "/robots.txt" || target == "/.well-known/tdmrep.json"
}

// splitQuery parts target before its first ?, which stays with the query.
func splitQuery(target string) (path, query string) {
	if i := strings.IndexByte(target, '?'); i >= 0 {
		return target[:i], target[i:]
	}
	return target, ""
}

// isPlain reports whether none of the four operations would change path. A path
// with an escape is left to them, so a false may be wrong.
func isPlain(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case c == '%', c == ';', c == '\\':
			return false
		case path[i-1] != '/':
		case c == '/', c == '.' && beginsWithDots(path[i:]):
			return false
		}
	}
	return true
}

// beginsWithDots reports whether the first segment of s is . or .. in octets.
func beginsWithDots(s string) bool {
	segment, _, _ := strings.Cut(s, "/")
	return segment == "." || segment == ".."
}

// read finds every reading of path, breadth first, each operation applied in
// order to each path found (T36), and their forms with query attached.
func (p *Page) read(path, query string) {
	paths := append(make([]string, 0, 4), path)
	for i := 0; i < len(paths); i++ {
		for _, operation := range operations {
			next := operation(paths[i])
			if slices.Contains(paths, next) {
				continue
			}
			if len(paths) == MaxReadings {
				p.overLimit = true
				return
			}
			paths = append(paths, next)
		}
	}
	for _, path := range paths {
		if form := Form(path + query); !slices.Contains(p.readings, form) {
			p.readings = append(p.readings, form)
		}
	}
}
