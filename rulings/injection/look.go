package injection

// anchor returns the anchor that letters are; nil, if none is.
func (s *screen) anchor(letters []byte) *anchor {
	if len(letters) > maxWord || s.lengths[letters[0]|0x20-'a']>>len(letters)&1 == 0 {
		return nil
	}
	var k key
	for i, b := range letters {
		k[i] = b | 0x20
	}
	return s.anchors.get(&k)
}

// back returns a place before the anchor at p from which a walk finds every match that
// has this anchor or one that it comes to. It goes back over words between ASCII white
// space, and to more words where there is other; but not over what was walked before,
// nor over what does not stand between the words of a match.
func (f *finder) back(p int) int {
	words := f.s.before
	for ; p > f.walked; p-- {
		b := f.text[p-1]
		switch f.s.chars.ascii[b] {
		case other:
			if b != ',' && b != ':' {
				return p
			}
		case space, lineBreak:
			if k := f.s.chars.ascii[f.text[p]]; k != space && k != lineBreak {
				if words == 0 {
					return p
				}
				words--
			}
		}
	}
	return p
}

// mayPrecede reports whether what follows an anchor that ends at p may follow it in a
// match, as far as one word tells. No anchor has a mark.
func (f *finder) mayPrecede(a *anchor, p int) bool {
	for start := p; !a.anyNext; {
		if p == len(f.text) {
			return false
		}
		k, size := f.s.chars.at(f.text, p)
		switch {
		case k == space || k == lineBreak:
			p += size
		case p == start:
			return k.inWord() // which is then not the anchor alone
		default:
			return k.inWord() && f.isOf(&a.next, p)
		}
	}
	return true
}

// mayFollow reports whether what stands before an anchor that begins at p may do so in
// a match, as far as one word tells. It does not read back beyond ASCII.
func (f *finder) mayFollow(a *anchor, p int) bool {
	if a.anyPrev {
		return true
	}
	table := &f.s.chars.ascii
	end := p
	for end > 0 && (table[f.text[end-1]] == space || table[f.text[end-1]] == lineBreak) {
		end--
	}
	start := end
	for start > 0 && table[f.text[start-1]].inWord() && end-start <= 2*maxWord {
		start--
	}
	switch {
	case end == 0:
		return false
	case end == p, start > 0 && table[f.text[start-1]] == beyond, end-start > 2*maxWord:
		return table[f.text[end-1]] != other
	case start == end:
		return f.text[end-1] == ',' || f.text[end-1] == ':' // a mark
	}
	return f.isOf(&a.prev, start)
}

// isOf reports whether the word that begins at p may stand at one of at.
func (f *finder) isOf(at *places, p int) bool {
	return !disjoint(&f.s.words.takes[f.s.word(f.text, p).number], at)
}
