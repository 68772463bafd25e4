package robots

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestT41_AnyPieceIsFoundWhereItFirstStands(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(r.IntN(2))
		}
		return string(b)
	}
	for i := range 20_000 {
		block := text(1 + r.IntN(6))
		piece := strings.Repeat(block, 1+r.IntN(12)) + text(r.IntN(3))
		s := text(r.IntN(20)) + strings.Repeat(block, r.IntN(30)) + text(r.IntN(3)) + strings.Repeat(block, r.IntN(20)) + text(r.IntN(4))
		if r.IntN(2) == 0 {
			s += piece
		}
		want := strings.Index(s, piece)
		if got := index(s, piece); got != want {
			t.Fatalf("index(%q, %q) = %d, want %d", s, piece, got, want)
		}
		// The same, all of it long.
		long := func(s string) string { return strings.Repeat(s, longPiece) }
		if i%100 == 0 {
			if got, want := index(long(s), long(piece)), strings.Index(long(s), long(piece)); got != want {
				t.Fatalf("index(%q, %q) = %d, want %d, each %d times", s, piece, got, want, longPiece)
			}
		}
		if got := twoWay(s, piece); got != want {
			t.Fatalf("twoWay(%q, %q) = %d, want %d", s, piece, got, want)
		}
	}
}

// BenchmarkMatchLedOn is a target full of places that begin as a long piece does.
func BenchmarkMatchLedOn(b *testing.B) {
	block := "a" + strings.Repeat("b", 15)
	p := Compile("/*" + strings.Repeat(block, 2000) + "x")
	form := "/" + strings.Repeat(block, 4000)
	b.SetBytes(int64(len(form)))
	for b.Loop() {
		p.Match(form)
	}
}
