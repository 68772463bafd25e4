package injection

import "unicode/utf8"

// A walk takes words one after the other through the automaton. It keeps the places
// reached and, for each, where the match that reached it began: the first such
// place, as what follows does not depend on it.
type walk struct {
	walked int // up to where words were taken

	reached places
	began   [maxPlaces]int
	spare   [maxPlaces]int // those of the step that is under way

	// Where a rule with a gap stands between its halves.
	inGap    bool
	gapBegan int // where the first half began
	gapFrom  int // up to where the gap was measured
	gapSoFar int // its characters

	mailEnd int // of the last mail address that ended a match
}

// walkFrom walks from p at least to until, and on as long as a match may be under way.
// It stops behind a word, or between words.
func (f *finder) walkFrom(p, until int) {
	spaced := false // white space stands before p
	for p < len(f.text) && (p < until || f.inGap || !f.reached.empty()) {
		if spaced {
			f.mailAt(p)
		}
		k, size := f.s.chars.at(f.text, p)
		switch {
		case k.inWord():
			if !spaced {
				f.reached = places{}
			}
			read := f.s.word(f.text, p)
			f.step(read)
			p = read.next
			spaced = false
			continue
		case k == lineBreak:
			f.inGap = false
			spaced = true
		case k == space:
			spaced = true
		default:
			f.reached = places{}
			spaced = false
		}
		p += size
	}
	f.reached, f.inGap = places{}, false
	f.walked = p
}

// step takes one word.
func (f *finder) step(read word) {
	a := f.s.words
	takes := &a.takes[read.number]
	if takes == &a.takes[0] && f.reached.empty() && !f.inGap {
		return
	}
	var next places
	for p := range f.reached.all() {
		f.enter(&next, a.follow[p].and(takes), f.began[p])
	}
	if f.measureGap(read.start) {
		f.enter(&next, a.follow[a.gapAt].and(takes), f.gapBegan)
	}
	first := a.first.and(takes)
	if read.start < f.mailEnd {
		first = first.without(&a.ofRule[a.mailRule])
	}
	f.enter(&next, first, read.start)
	f.reached = next
	for p := range next.all() {
		f.began[p] = f.spare[p]
	}
	if !disjoint(&next, &a.last) {
		f.matched(next.and(&a.last), read.end)
	}
	if !disjoint(&f.reached, &a.opensGap) {
		f.openGap(read.end)
	}
}

// enter adds places to next, for a match that began at start.
func (f *finder) enter(next *places, places places, start int) {
	for q := range places.all() {
		if !next.has(q) || start < f.spare[q] {
			f.spare[q] = start
		}
		next.add(q)
	}
}

// matched notes a finding for each rule of which a place in ends was reached, and
// forgets what else of these rules is under way: findings of a rule do not overlap.
func (f *finder) matched(ends places, end int) {
	a := f.s.words
	for !ends.empty() {
		rule, start := -1, 0
		for p := range ends.all() {
			if rule < 0 || a.rule[p] == rule && f.began[p] < start {
				rule, start = a.rule[p], f.began[p]
			}
		}
		f.note(rule, start, end)
		ends = ends.without(&a.ofRule[rule])
		f.forget(rule)
	}
}

func (f *finder) forget(rule int) {
	a := f.s.words
	f.reached = f.reached.without(&a.ofRule[rule])
	f.inGap = f.inGap && !a.ofRule[rule].has(a.gapAt)
}

func (f *finder) openGap(end int) {
	a := f.s.words
	first := true
	for p := range f.reached.all() {
		if a.opensGap.has(p) && (first || f.began[p] < f.gapBegan) {
			f.gapBegan, first = f.began[p], false
		}
	}
	f.inGap, f.gapFrom, f.gapSoFar = true, end, 0
}

// measureGap reports whether what begins at start may follow the gap.
func (f *finder) measureGap(start int) bool {
	if !f.inGap {
		return false
	}
	f.gapSoFar += utf8.RuneCount(f.text[f.gapFrom:start])
	f.gapFrom = start
	f.inGap = f.gapSoFar <= f.s.words.gapLength
	return f.inGap
}

// mailAt notes a finding if a mail address that begins at p ends a match.
func (f *finder) mailAt(p int) {
	a := f.s.words
	from := f.reached.and(&a.beforeMail)
	if from.empty() {
		return
	}
	end := p + mailLength(f.text[p:])
	if end == p || end < len(f.text) && f.classAt(end) == letter {
		return
	}
	rule, start := a.mailRule, p
	for q := range from.all() {
		start = min(start, f.began[q])
	}
	f.note(rule, start, end)
	f.forget(rule)
	f.mailEnd = end
}

func (f *finder) classAt(p int) class {
	k, _ := f.s.chars.at(f.text, p)
	return k
}
