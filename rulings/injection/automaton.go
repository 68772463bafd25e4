package injection

import "strings"

// An automaton has all patterns of words at once. Its places are where a word, a
// mail address or a gap stands in a pattern, numbered from left to right (Glushkov's
// construction; no pattern repeats without end, so steps lead to higher numbers).
type automaton struct {
	rule   []int    // of each place
	ofRule []places // the places of each rule
	follow []places // what may stand behind it
	first  places   // what may begin a match
	last   places   // what may end one
	anys   places   // where any word may stand
	mails  places   // where the mail address stands, of which there is one

	words   map[string]int // the number of each word in the rules, from 1; with the mark behind it
	takes   []places       // by number, 0 for every other word: where it may stand
	numbers table[int]     // the same
	lengths [256]uint32    // by first letter: bits of the lengths that words have

	mailRule   int    // the rule that has mail addresses
	beforeMail places // what a mail address may stand behind
	opensGap   places // the ends of the half before the gap
	gapAt      int    // the place of the gap, of which there is one
	gapLength  int    // characters
}

// An end is what may begin a part of a pattern, what may end it, and whether the
// part may be left out.
type ends struct {
	first, last places
	empty       bool
}

func newAutomaton() *automaton {
	return &automaton{words: make(map[string]int), takes: make([]places, 1)}
}

// add adds the pattern of a rule.
func (a *automaton) add(rule int, pattern *node) {
	e := a.build(rule, pattern)
	if e.empty {
		panic("rule text: a pattern that nothing matches")
	}
	a.first, a.last = a.first.or(&e.first), a.last.or(&e.last)
}

func (a *automaton) build(rule int, n *node) ends {
	switch n.kind {
	case sequence:
		e := ends{empty: true}
		for _, part := range n.parts {
			e = a.join(e, a.build(rule, part))
		}
		return e
	case choice:
		var e ends
		for _, part := range n.parts {
			p := a.build(rule, part)
			e = ends{e.first.or(&p.first), e.last.or(&p.last), e.empty || p.empty}
		}
		return e
	case option:
		e := a.build(rule, n.parts[0])
		e.empty = true
		return e
	}
	var e ends
	p := a.place(rule, n)
	e.first.add(p)
	e.last.add(p)
	return e
}

// join is one part and the next: whatever ends the one is followed by whatever
// begins the other.
func (a *automaton) join(one, next ends) ends {
	for p := range one.last.all() {
		a.follow[p] = a.follow[p].or(&next.first)
	}
	e := ends{first: one.first, last: next.last, empty: one.empty && next.empty}
	if one.empty {
		e.first = e.first.or(&next.first)
	}
	if next.empty {
		e.last = e.last.or(&one.last)
	}
	return e
}

func (a *automaton) place(rule int, n *node) int {
	p := len(a.rule)
	if p == maxPlaces {
		panic("rule text: more places than a set has bits")
	}
	a.rule = append(a.rule, rule)
	for len(a.ofRule) <= rule {
		a.ofRule = append(a.ofRule, places{})
	}
	a.ofRule[rule].add(p)
	a.follow = append(a.follow, places{})
	switch n.kind {
	case oneOf:
		for _, w := range n.words {
			a.takes[a.number(w)].add(p)
		}
	case anyWord:
		a.anys.add(p)
	case mail:
		if !a.mails.empty() {
			panic("rule text: a second mail address")
		}
		a.mails.add(p)
		a.mailRule = rule
	case gap:
		if a.gapLength != 0 {
			panic("rule text: a second gap")
		}
		a.gapAt, a.gapLength = p, n.n
	}
	return p
}

// number is the number of a word, a new one for a new word.
func (a *automaton) number(w string) int {
	i, ok := a.words[w]
	if !ok {
		i = len(a.takes)
		a.words[w] = i
		a.takes = append(a.takes, places{})
		a.numbers.put(w, i)
		a.lengths[w[0]] |= 1 << len(w)
	}
	return i
}

// finish makes what follows from all patterns together.
func (a *automaton) finish() {
	a.takes[0] = a.anys
	for w, i := range a.words {
		if isLower(w[len(w)-1]) { // with a mark behind it, it is more than a word
			a.takes[i] = a.takes[i].or(&a.anys)
		}
	}
	for p := range a.follow {
		if mail := a.follow[p].and(&a.mails); !mail.empty() {
			a.beforeMail.add(p)
		}
		if a.gapLength != 0 && a.follow[p].has(a.gapAt) {
			a.opensGap.add(p)
		}
	}
	a.checkMarks()
}

// checkMarks holds that a pattern cannot end with a word that has a mark elsewhere:
// where the mark stands, the word is read with it.
func (a *automaton) checkMarks() {
	for w := range a.words {
		plain, both := a.words[strings.TrimRight(w, ",:")]
		if end := a.takes[plain]; both && plain != a.words[w] && !disjoint(&end, &a.last) {
			panic("rule text: a pattern ends with " + w + " without its mark")
		}
	}
}

func disjoint(a, b *places) bool {
	both := a.and(b)
	return both.empty()
}

// lookup returns the number of a word of that length, 0 for one of no rule.
func (a *automaton) lookup(w *key, length int) int {
	if a.lengths[w[0]]>>length&1 == 0 {
		return 0
	}
	return a.numbers.get(w)
}
