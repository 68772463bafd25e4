package robots

import "strings"

const (
	// longPiece is the length from which strings.Index can be led to compare the
	// piece again and again, at a cost that is far above reading the text once.
	longPiece = 1024

	// probe is how many octets of a long piece are looked for before the rest.
	probe = 32
)

// index returns where piece first stands in s, -1 where it does not, in time in
// proportion to the lengths of both, whatever they hold (T41). A stranger chooses
// both.
func index(s, piece string) int {
	if len(piece) < longPiece {
		return strings.Index(s, piece)
	}
	// As a rule few places begin alike. When comparing there has cost as much as
	// reading s, the rest is searched by the slower way that cannot be led on.
	work := len(s)
	end := len(s) - len(piece) + probe // there is no room for piece behind it
	for at := 0; at+probe <= end; {
		i := strings.Index(s[at:end], piece[:probe])
		if i < 0 {
			return -1
		}
		at += i
		if s[at:at+len(piece)] == piece {
			return at
		}
		at++
		if work -= len(piece); work < 0 {
			if i := twoWay(s[at:], piece); i >= 0 {
				return at + i
			}
			return -1
		}
	}
	return -1
}

// twoWay finds piece in s by the two-way algorithm (Crochemore and Perrin 1991),
// which compares at most twice the length of s and needs no memory.
func twoWay(s, piece string) int {
	cut, period := criticalCut(piece)
	periodic := piece[:cut] == piece[period:period+min(cut, len(piece)-period)]
	if !periodic {
		period = max(cut, len(piece)-cut) + 1
	}
	known := 0 // octets at the start of piece that match here, as was seen before
	for at := 0; at+len(piece) <= len(s); {
		i := max(cut, known)
		for i < len(piece) && piece[i] == s[at+i] {
			i++
		}
		if i < len(piece) {
			at += i - cut + 1
			known = 0
			continue
		}
		i = cut
		for i > known && piece[i-1] == s[at+i-1] {
			i--
		}
		if i <= known {
			return at
		}
		at += period
		if periodic {
			known = len(piece) - period
		}
	}
	return -1
}

// criticalCut returns where piece is cut in two and the period of the right half:
// the later beginning of the greatest suffix by either order of octets.
func criticalCut(piece string) (cut, period int) {
	c1, p1 := greatestSuffix(piece, 0)
	c2, p2 := greatestSuffix(piece, 0xff)
	if c1 > c2 {
		return c1, p1
	}
	return c2, p2
}

// greatestSuffix returns where the greatest suffix of s begins, and its period.
// Octets are ordered by their value after flip, so that 0xff turns the order round.
func greatestSuffix(s string, flip byte) (begin, period int) {
	period = 1
	for next, k := 1, 0; next+k < len(s); {
		switch a, b := s[next+k]^flip, s[begin+k]^flip; {
		case a < b:
			next += k + 1
			k, period = 0, next-begin
		case a > b:
			begin = next
			next++
			k, period = 0, 1
		case k+1 == period:
			next += period
			k = 0
		default:
			k++
		}
	}
	return begin, period
}
