package injection

import (
	"fmt"
	"strings"
)

// A screen is the compiled rule text.
type screen struct {
	rules   []rule
	chars   characters
	words   *automaton
	images  *images
	markers *markers
	runs    []*run
	sieve   *sieve
	sought  []string       // five characters of each anchor, its bounds as blanks
	anchors table[*anchor] // by their letters
	lengths [26]uint32     // by first letter: bits of the lengths that anchors have
	before  int            // how many words a match may have before an anchor of its rule
}

// A rule is what findings say of it.
// maxRules is more than there are.
const maxRules = 16

type rule struct{ name, category string }

// compile makes the matcher of text. A fault in the text is one of the program and
// panics; every test meets it.
func compile(text string) *screen {
	s := &screen{words: newAutomaton()}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"), key == "unicode":
		case key == "is":
			s.is(value)
		default:
			s.rule(key, value)
		}
	}
	s.chars.finish()
	s.words.finish()
	s.findAnchors()
	s.sieve = newSieve(s)
	return s
}

// is reads a kind of character.
func (s *screen) is(text string) {
	name, set, _ := strings.Cut(text, " ")
	kinds := map[string]*charset{
		"apostrophe": &s.chars.apostrophe, "hyphen": &s.chars.hyphen, "letter": &s.chars.letter,
		"space": &s.chars.space, "break": &s.chars.lineBreak,
	}
	*kinds[name] = parseCharset(set)
}

// rule reads a rule: its category, its grammar, and what the grammar takes.
func (s *screen) rule(name, text string) {
	part := strings.SplitN(text, " ", 3)
	if len(part) != 3 || name != fmt.Sprintf("IS%d", len(s.rules)+1) {
		panic("rule text: " + name + " " + text)
	}
	i := len(s.rules)
	s.rules = append(s.rules, rule{name, part[0]})
	switch part[1] {
	case "words":
		s.words.add(i, parsePattern(part[2]))
	case "image":
		s.images = parseImages(i, part[2])
	case "markers":
		s.markers = parseMarkers(i, part[2])
	case "run":
		s.runs = append(s.runs, parseRun(i, part[2]))
	default:
		panic("rule text: " + name + " has the grammar " + part[1])
	}
}
