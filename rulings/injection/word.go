package injection

// maxWord is how many octets a word of the rules has at most, a mark included.
const maxWord = 15

// A word is one that was read from a text.
type word struct {
	start, end int // without the apostrophes and hyphens at its ends
	next       int // where reading goes on
	number     int // in the automaton, 0 for a word of no rule
}

// A spelling becomes a key. One that is too long or has something else in it than
// letters and apostrophes is longer than maxWord, and no word of a rule.
type spelling struct {
	key key
	n   int
}

func (s *spelling) add(k class, octet byte, size int) {
	switch {
	case s.n >= maxWord || k == hyphen || k == letter && size > 1:
		s.n = maxWord + 1
	case k == letter:
		s.key[s.n] = octet | 0x20
		s.n++
	default:
		s.key[s.n] = '\''
		s.n++
	}
}

// cut takes off what was added behind the first n octets.
func (s *spelling) cut(n int) {
	if n < s.n {
		clear(s.key[n:])
		s.n = n
	}
}

// word reads the word that begins at p, with a mark behind it if a rule has it so.
func (s *screen) word(text []byte, p int) word {
	w := word{start: -1, end: p}
	var spelled spelling
	length := 0 // of spelled, up to the last letter
	from := p
	for p < len(text) {
		k, size := s.chars.ascii[text[p]], 1
		if k == beyond {
			k, size = s.chars.at(text, p)
		}
		if !k.inWord() {
			break
		}
		if k == letter && w.start < 0 {
			w.start = p
			spelled.cut(0)
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
	if length > maxWord {
		return w
	}
	spelled.cut(length)
	if length < maxWord && p < len(text) && (text[p] == ',' || text[p] == ':') {
		marked := spelled.key
		marked[length] = text[p]
		if w.number = s.words.lookup(&marked, length+1); w.number != 0 {
			w.end, w.next = p+1, p+1
			return w
		}
	}
	w.number = s.words.lookup(&spelled.key, length)
	return w
}
