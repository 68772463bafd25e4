package injection

import (
	"strings"
	"testing"
)

// Were there a way through a pattern past its anchors, the sieve would not see it.
func TestO46_EveryMatchHasAnAnchorOfItsRule(t *testing.T) {
	s := compiled()
	for i, r := range s.rules {
		if s.words.ofRule[min(i, len(s.words.ofRule)-1)].empty() || i >= len(s.words.ofRule) {
			continue
		}
		without := places{}
		for w, number := range s.words.words {
			if isAnchor(r.name, w) {
				continue
			}
			without = without.or(&s.words.takes[number])
		}
		without = without.or(&s.words.anys)
		without = without.or(&s.words.mails)
		without.add(s.words.gapAt)
		reached := s.words.first.and(&s.words.ofRule[i])
		reached = reached.and(&without)
		for range maxPlaces {
			for p := range reached.all() {
				next := s.words.follow[p].and(&without)
				reached = reached.or(&next)
			}
		}
		if past := reached.and(&s.words.last); !past.empty() {
			t.Errorf("%s has matches without any of %q", r.name, anchorWords[r.name])
		}
	}
}

func isAnchor(rule, w string) bool {
	for a := range strings.FieldsSeq(strings.ToLower(anchorWords[rule])) {
		if a == w {
			return true
		}
	}
	return false
}

// What bounds an anchor behind is in the sieve only if that is white space, an
// apostrophe, a hyphen or ASCII, and no mark stands behind one.
func TestO46_AnchorsHaveTheShapeTheSieveNeeds(t *testing.T) {
	s := compiled()
	for i, k := range s.anchors.keys {
		letters, a := strings.TrimRight(string(k[:]), "\x00"), s.anchors.values[i]
		if a == nil {
			continue
		}
		if len(letters) < 3 || len(letters) > maxWord {
			t.Errorf("anchor %q is too short or too long", letters)
		}
		if len(letters) == 3 && a.walk && a.anyNext {
			t.Errorf("anchor %q may end a match", letters)
		}
		for _, mark := range []string{",", ":"} {
			if _, ok := s.words.words[letters+mark]; ok {
				t.Errorf("anchor %q has a mark in some rule", letters)
			}
		}
	}
	for _, five := range s.sought {
		if len(five) != 5 || strings.Trim(five[1:4], "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("the sieve looks for %q", five)
		}
	}
	for rule := range anchorWords {
		if !strings.Contains(RuleText(), "\n"+rule+" ") {
			t.Errorf("anchors for %s, which is no rule", rule)
		}
	}
}

func TestTablesHaveFewWordsInARow(t *testing.T) {
	row, longest := 0, 0
	for _, k := range compiled().words.numbers.keys {
		row++
		if k == (key{}) {
			row = 0
		}
		longest = max(longest, row)
	}
	if longest > 8 {
		t.Errorf("%d words in a row", longest)
	}
}
