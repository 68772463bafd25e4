package injection

import (
	"strings"
	"unicode"
)

// anchorWords are, for each rule of words, rare words of which every match has one.
// In capitals stand the five neighbouring letters that are rarest in manuals, which
// the sieve looks for; where there are four, the bound before them is the fifth, where
// three, both bounds. The table decides where to look closer and nothing else: its test
// takes these words out of the automaton and finds no match left.
var anchorWords = map[string]string{
	"IS1":  "IGNORe disREGARd fORGET dISCARd ovERRIDe",
	"IS2":  "IGNORe disREGARd fORGET",
	"IS3":  "IGNORe disREGARd fORGET",
	"IS4":  "NOW LONGEr",
	"IS5":  "NOW",
	"IS6":  "unrestRICTEd unfILTERed unCENSOred jaILBROken RULEs restRICTIons lIMITS GUIDelines fILTERs",
	"IS7":  "pROMPT pROMPTs insTRUCTion insTRUCTions meSSAGE meSSAGEs RULEs GUIDelines confIGURAtion confIGURAtions",
	"IS8":  "vERBATim WORD",
	"IS9":  "YOU YOU're",
	"IS10": "TELL INFORm ALERT nOTIFY",
	"IS11": "convERSATion convERSATions hiSTORY pROMPT pROMPTs USER's HUMAn's",
}

// An anchor is a run of ASCII letters that tells where to look closer.
type anchor struct {
	walk    bool // for the rules of words
	markers bool // for the rule of markers

	// Of the words of a match directly before and behind it: their places, and whether
	// anything may stand there, nothing included.
	prev, next       places
	anyPrev, anyNext bool
}

// findAnchors collects the anchors of all rules by their letters.
func (s *screen) findAnchors() {
	for i, r := range s.rules {
		for w := range strings.FieldsSeq(anchorWords[r.name]) {
			letters, isPart, _ := strings.Cut(strings.ToLower(w), "'")
			a := s.newAnchor(letters, sought(w))
			a.walk = true
			at := s.words.standsFor(i, strings.ToLower(w))
			s.surround(a, at, isPart != "")
		}
	}
	for _, m := range s.markers.all() {
		s.newAnchor(m.letters, m.sought()).markers = true
	}
}

// newAnchor returns the anchor of letters, a new one for new letters.
func (s *screen) newAnchor(letters, sought string) *anchor {
	s.sought = append(s.sought, sought)
	k := keyOf(letters)
	a := s.anchors.get(&k)
	if a == nil {
		a = new(anchor)
		s.anchors.put(letters, a)
		s.lengths[letters[0]-'a'] |= 1 << len(letters)
	}
	return a
}

// surround adds to what may stand round an anchor that stands at those places. Of one
// that is part of a word no other word stands behind.
func (s *screen) surround(n *anchor, at places, isPart bool) {
	a := s.words
	depth := make([]int, len(a.rule)) // how many words may stand before a place
	for q := range a.follow {
		for p := range a.follow[q].all() {
			depth[p] = max(depth[p], depth[q]+1)
		}
		if both := a.follow[q].and(&at); !both.empty() {
			n.prev.add(q)
		}
	}
	for p := range at.all() {
		s.before = max(s.before, depth[p])
		if !isPart {
			n.next = n.next.or(&a.follow[p])
			n.anyNext = n.anyNext || a.last.has(p)
		}
	}
	noWord := a.mails
	noWord.add(a.gapAt)
	n.anyPrev = n.anyPrev || !disjoint(&at, &a.first) || !disjoint(&n.prev, &noWord)
	n.anyNext = n.anyNext || !disjoint(&n.next, &noWord)
}

// sought returns the capitals of w, filled up to five characters with its bounds.
func sought(w string) string {
	bounded := " " + w + " "
	start := strings.IndexFunc(bounded, unicode.IsUpper)
	capitals := strings.FieldsFunc(bounded[start:], func(r rune) bool { return !unicode.IsUpper(r) })[0]
	if len(capitals) < 5 {
		start--
	}
	return strings.ToLower(bounded[start : start+5])
}

// standsFor returns where in a rule a word stands, other than for any word.
func (a *automaton) standsFor(rule int, w string) places {
	number, ok := a.words[w]
	if !ok {
		panic("no rule has the word " + w)
	}
	at := a.takes[number].without(&a.anys)
	return at.and(&a.ofRule[rule])
}
