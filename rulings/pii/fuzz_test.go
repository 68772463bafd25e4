package pii

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var seeds = []string{
	"", "jane@example.org", "a@b.cc@d.ee", "x@a-.b", "x@a.b-c.dd-", "+44 (0)20 7946 0958", "++1)-(2345678", "GB82 WEST 1234 5698 7654 32", "AB 12 34 56 C", "123-45-6789", "4111 1111 1111 1111",
	"de89370400440532013000", "ZZ12 3456D", "4111-1111 11111111 4111", "\xff@\xe9.org", "1-123-45-6789", "XX90000000000000000000000000000000 0",
}

// maxReference keeps the reference, which tries every part of a text, quick.
const maxReference = 160

func checkAgainstReference(t *testing.T, text string) {
	t.Helper()
	got, cut := Scan([]byte(text))
	want := reference(text)
	if cut || len(want) > MaxFindings {
		t.Fatalf("%d matches in %d bytes", len(want), len(text))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%q (-reference +got):\n%s", text, diff)
	}
}

func FuzzScan(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkAgainstReference(t, text[:min(len(text), maxReference)])
	})
}

// pieces are what made-up texts are made of: what the grammars speak of and what
// nearly is.
var pieces = []string{
	"@", ".", "-", "+", " ", "  ", "(", ")", "_", "%", "\n", "0", "1", "4", "9", "12", "345", "6789", "00", "000", "666", "x", "Ab", "GB", "AB", "C", "d", "é", "org", "co.uk", "jane@", "4111 1111", "1111 1111", "1111-1111", "GB82", " WEST", "1234 5698", "7654 32",
	"DE89", "370400", "440532013000", "AB 12 34 56", "123-45-", "+44", "(0)20", "79460958", "5500", "0000 0000", "0004",
}

// madeUp returns a text of pieces; the same seed gives the same texts.
func madeUp(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestScanFindsWhatTheReferenceFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 1))
	matches := 0
	for range 300 {
		text := madeUp(r, 1+r.IntN(20))
		checkAgainstReference(t, text)
		findings, _ := Scan([]byte(text))
		matches += len(findings)
	}
	if matches < 25 {
		t.Errorf("only %d matches were compared", matches)
	}
}
