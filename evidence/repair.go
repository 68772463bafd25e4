package evidence

import (
	"slices"
	"strings"
)

// findTorn decides which lines the next torn_record names. A bad line with its
// line end is damage that no append excuses, unless a repair of it was cut short:
// then it stands in front of an unfinished torn_record, or this writer itself was
// about to mark it when it failed (cut).
func (s *survey) findTorn(cut []int64) {
	if s.ragged || len(cut) > 0 && slices.Equal(s.run, cut) {
		s.torn = s.run
	}
}

// unfinishedRepair reports whether line could be the beginning of a torn_record
// as build writes it.
func unfinishedRepair(line []byte) bool {
	rest := strings.TrimRight(string(line[:min(len(line), 512)]), "\x00")
	for _, piece := range repairPieces {
		switch n := piece.match(rest); {
		case n == len(rest):
			return rest != ""
		case n < 0:
			return false
		default:
			rest = rest[n:]
		}
	}
	return true
}

// A repairPiece is literal text, or a run of characters of a kind.
type repairPiece struct{ text, kind string }

var repairPieces = []repairPiece{
	{text: `{"seq":`}, {kind: "0123456789"},
	{text: `,"timestamp":"`}, {kind: "0123456789-:.TZ"},
	{text: `","event":"evidence_gap","payload":{"edge":"`}, {kind: "0123456789abcdefTZ-"},
	{text: `","reason":"torn_record"`},
}

// match returns how much of s the piece accounts for, -1 when s does not begin
// with it. A s that ends within the piece is accounted for whole.
func (p repairPiece) match(s string) int {
	if p.kind != "" {
		return len(s) - len(strings.TrimLeft(s, p.kind))
	}
	if strings.HasPrefix(p.text, s) {
		return len(s)
	}
	if !strings.HasPrefix(s, p.text) {
		return -1
	}
	return len(p.text)
}
