package rsl

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// A kind is what a permits or prohibits list is about (T75).
type kind uint8

const (
	kindUsage kind = iota
	kindUser
	kindGeo
)

// usage is a set of RSL's words for uses.
type usage uint8

const (
	aiInput usage = 1 << iota
	aiTrain
	aiIndex
	search
	aiAll
	all
)

// usageOf returns the word of RSL 1.0 that is spelled so.
func usageOf(word string) usage {
	switch word {
	case "ai-input":
		return aiInput
	case "ai-train":
		return aiTrain
	case "ai-index":
		return aiIndex
	case "search":
		return search
	case "ai-all":
		return aiAll
	case "all":
		return all
	}
	return 0
}

// prohibitedBy returns what a word prohibits: RSL 1.0's in any letter case, and
// those of 0.9 (T76).
func prohibitedBy(word string) usage {
	word = lower(word)
	switch word {
	case "train-ai", "train-genai":
		return aiTrain
	case "ai-use", "ai-summarize":
		return aiInput
	}
	return usageOf(word)
}

// list begins a permits or prohibits element. A type that is written and empty
// is read as none, since that grants less (T6): a list of uses closes what is
// not on it.
func (p *parser) list(r role) role {
	p.taken, p.listAt = p.taken[:0], p.at
	switch t, _ := p.attr("type"); t {
	case "", "usage":
		p.kind = kindUsage
	case "user":
		p.kind = kindUser
	case "geo":
		p.kind = kindGeo
	default:
		p.doc.remark(RemarkType, t, p.listAt)
		return roleSilent
	}
	return r
}

// listed ends a permits or prohibits element whose text is text.
func (p *parser) listed(r role, text string) {
	licence := p.licence()
	if p.kind == kindUsage {
		licence.listed = licence.listed || r == rolePermits
		for word := range words(text, isSpace) {
			p.use(licence, r, word)
		}
		return
	}
	if licence.who == nil {
		licence.who = new(conditions)
	}
	c := &licence.who.user
	if p.kind == kindGeo {
		c = &licence.who.geo
	}
	if r == rolePermits {
		c.permitting = true
		c.permits = slices.AppendSeq(c.permits, words(text, isSpace))
	} else {
		c.prohibiting = true
		c.prohibits = slices.AppendSeq(c.prohibits, words(text, partsProhibits))
	}
}

// use takes one word of a list of uses. Words of 0.9, comma lists and other
// letter cases prohibit and never permit (T76).
func (p *parser) use(licence *Licence, r role, word string) {
	known := usageOf(word)
	if known == 0 {
		p.doc.remark(RemarkUsage, word, p.listAt)
	}
	if r == rolePermits {
		licence.permits |= known
		return
	}
	for part := range words(word, partsProhibits) {
		licence.prohibits |= prohibitedBy(part)
	}
}

// partsProhibits is what parts the words of prohibits.
func partsProhibits(c byte) bool { return c == ',' || isSpace(c) }

// words yields what stands in s between octets that part words.
func words(s string, parts func(byte) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := 0
		for i := 0; i <= len(s); i++ {
			if i < len(s) && !parts(s[i]) {
				continue
			}
			if begin < i && !yield(s[begin:i]) {
				return
			}
			begin = i + 1
		}
	}
}

// conditions is for whom a licence is (T75, T88). A nil one is for everybody.
type conditions struct{ user, geo condition }

// A condition is met by what is on one list and not on the other.
type condition struct {
	permits, prohibits      []string // sorted by settle
	permitting, prohibiting bool     // there is such a list, even if empty
}

// settle ends the reading of a licence's conditions.
func (c *conditions) settle() {
	if c == nil {
		return
	}
	for _, c := range []*condition{&c.user, &c.geo} {
		slices.Sort(c.permits)
		slices.SortFunc(c.prohibits, compareFold)
	}
}

// metBy reports whether somebody who is declared to be names meets c. Nobody is
// shown to meet a condition by declaring nothing.
func (c *condition) metBy(names []string) bool {
	permitted, prohibited := false, len(names) == 0
	for _, name := range names {
		if _, ok := slices.BinarySearch(c.permits, name); ok {
			permitted = true
		}
		if _, ok := slices.BinarySearchFunc(c.prohibits, name, compareFold); ok {
			prohibited = true
		}
	}
	return (permitted || !c.permitting) && (!prohibited || !c.prohibiting)
}

// compareFold orders words without regard to the case of ASCII letters: in
// prohibits it is not a way out (T76).
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(lowerOctet(a[i]), lowerOctet(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func lowerOctet(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// lower returns s with ASCII letters in lower case. Unicode has other letters
// whose lower case is one of ASCII, and these are other words.
func lower(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		b[i] = lowerOctet(c)
	}
	return string(b)
}
