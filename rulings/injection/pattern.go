package injection

import (
	"fmt"
	"strconv"
	"strings"
)

// A node is a part of a pattern of words.
type node struct {
	kind  nodeKind
	parts []*node // of a sequence or choice; the one part of an option
	words []string
	n     int // of a gap: characters
}

type nodeKind uint8

const (
	sequence nodeKind = iota + 1
	choice
	option
	oneOf   // one of words, a mark behind it included
	anyWord // one word, whichever
	mail
	gap
)

// A patternReader reads the grammar that ruleText describes, by descent.
type patternReader struct {
	text string
	pos  int
}

// parsePattern reads a pattern of words. The rules are part of the program, so a
// fault in them is one of the program.
func parsePattern(text string) *node {
	r := &patternReader{text: text}
	n := r.sequence()
	if r.pos != len(text) {
		r.fault("an unexpected character")
	}
	return n
}

func (r *patternReader) fault(what string) {
	panic(fmt.Sprintf("rule text: %s at %q", what, r.text[r.pos:]))
}

// accept steps over token if it stands here.
func (r *patternReader) accept(token string) bool {
	if !strings.HasPrefix(r.text[r.pos:], token) {
		return false
	}
	r.pos += len(token)
	return true
}

func (r *patternReader) sequence() *node {
	n := &node{kind: sequence}
	for {
		n.parts = append(n.parts, r.choice())
		if !r.accept(" ") {
			return n
		}
	}
}

// choice reads units between strokes. Those that are single words become one node:
// the automaton needs one place for all of them.
func (r *patternReader) choice() *node {
	n := &node{kind: choice}
	words := &node{kind: oneOf}
	for {
		u := r.unit()
		if u.kind == oneOf {
			words.words = append(words.words, u.words...)
		} else {
			n.parts = append(n.parts, u)
		}
		if !r.accept("/") {
			break
		}
	}
	if words.words != nil {
		n.parts = append(n.parts, words)
	}
	if len(n.parts) == 1 {
		n = n.parts[0]
	}
	if r.accept("+") {
		return &node{kind: sequence, parts: []*node{n, optional(optional(nil, n), n)}}
	}
	return n
}

func (r *patternReader) unit() *node {
	switch {
	case r.accept("("):
		n := r.sequence()
		r.close(")")
		return n
	case r.accept("["):
		n := r.sequence()
		r.close("]")
		return optional(nil, n)
	case r.accept("‹"):
		var n *node
		for range r.number() {
			n = optional(n, &node{kind: anyWord})
		}
		r.close("›")
		return n
	case r.accept("…"):
		return &node{kind: gap, n: r.number()}
	case r.accept("@"):
		return &node{kind: mail}
	}
	return r.word()
}

// optional is n, with inner behind it, or nothing.
func optional(inner, n *node) *node {
	parts := []*node{n}
	if inner != nil {
		parts = append(parts, inner)
	}
	return &node{kind: option, parts: []*node{{kind: sequence, parts: parts}}}
}

func (r *patternReader) close(bracket string) {
	if !r.accept(bracket) {
		r.fault(bracket + " missing")
	}
}

func (r *patternReader) number() int {
	start := r.pos
	for r.pos < len(r.text) && '0' <= r.text[r.pos] && r.text[r.pos] <= '9' {
		r.pos++
	}
	n, err := strconv.Atoi(r.text[start:r.pos])
	if err != nil || n < 1 {
		r.fault("a number missing")
	}
	return n
}

func (r *patternReader) word() *node {
	start := r.pos
	for r.pos < len(r.text) && (isLower(r.text[r.pos]) || r.text[r.pos] == '\'') {
		r.pos++
	}
	w := r.text[start:r.pos]
	if w == "" || len(w) >= maxWord || !isLower(w[0]) || !isLower(w[len(w)-1]) {
		r.fault("no word")
	}
	switch {
	case r.accept("*"):
		return &node{kind: oneOf, words: []string{w, w + "s"}}
	case r.accept(","):
		return &node{kind: oneOf, words: []string{w + ","}}
	case r.accept(":"):
		return &node{kind: oneOf, words: []string{w + ":"}}
	}
	return &node{kind: oneOf, words: []string{w}}
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
