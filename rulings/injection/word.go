package injection

// maxWord is how many octets a word of the rules has at most, a mark included.
const maxWord = 15

// A word is one that was read from a text.
type word struct {
	start, end int // without the apostrophes and hyphens at its ends
	next       int // where reading goes on
	number     int // in the automaton, 0 for a word of no rule
}

// A spelling is a word in lower case with straight apostrophes. One that is too long
// or has something else in it is longer than maxWord, and no word of a rule.
type spelling struct {
	octets [maxWord + 1]byte
	n      int
}

func (s *spelling) add(k class, octet byte, size int) {
	switch {
	case s.n >= maxWord || k == hyphen || k == letter && size > 1:
		s.n = maxWord + 1
	case k == letter:
		s.octets[s.n] = octet | 0x20
		s.n++
	default:
		s.octets[s.n] = '\''
		s.n++
	}
}

// word reads the word that begins at p, with a mark behind it if a rule has it so.
func (s *screen) word(text []byte, p int) word {
	w := word{start: -1, end: p}
	var spelled spelling
	length := 0 // of spelled, up to the last letter
	from := p
	for p < len(text) {
		k, size := s.chars.at(text, p)
		if !k.inWord() {
			break
		}
		if k == letter && w.start < 0 {
			w.start, spelled.n = p, 0
		}
		spelled.add(k, text[p], size)
		p += size
		if k == letter {
			w.end, length = p, spelled.n
		}
	}
	w.next = p
	if w.start < 0 { // no letter
		w.start, w.end = from, p
		return w
	}
	if p < len(text) && (text[p] == ',' || text[p] == ':') && length < maxWord {
		spelled.octets[length] = text[p]
		if w.number = s.words.lookup(spelled.octets[:length+1]); w.number != 0 {
			w.end, w.next = p+1, p+1
			return w
		}
	}
	if length <= maxWord {
		w.number = s.words.lookup(spelled.octets[:length])
	}
	return w
}
