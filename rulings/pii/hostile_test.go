package pii

import (
	"strings"
	"testing"
)

// hostile are texts that make a reader go back, or look far ahead again and again.
var hostile = []struct{ name, unit string }{
	{"digits", "4"},
	{"digits with blanks", "4 "},
	{"nearly a card", "4111 1111 1111 1112 "},
	{"one digit and a hyphen", "2-"},
	{"at signs", "@"},
	{"letters", "a"},
	{"letters and an at sign", strings.Repeat("a", 64) + "@"},
	{"one letter and an at sign", "a@"},
	{"labels without a last", "a@1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"},
	{"one address of labels", "a.b-c."},
	{"hyphens", "-"},
	{"plus signs", "+"},
	{"plus signs and digits", "+1(2)3 4-5.6"},
	{"nearly an IBAN", "AB12 "},
	{"capitals and digits", "A1B2"},
	{"pairs", "AB 12 34 56 "},
	{"nearly a number", "123-45-"},
	{"parentheses", "+1)("},
	{"blanks", " "},
	{"zero bytes", "\x00"},
	{"all of it", "jane@example.org +4420794609 "},
}

// A quadratic reader would take minutes here.
func TestO48_HostileTextsTakeLinearTime(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			text := []byte(strings.Repeat(h.unit, 1<<20/len(h.unit)))
			findings, cut := Scan(text)
			if len(findings) > MaxFindings || cut && len(findings) < MaxFindings {
				t.Errorf("%d findings, cut %v", len(findings), cut)
			}
		})
	}
}

func TestO48_FindingsAreAllThatIsKept(t *testing.T) {
	text := []byte(strings.Repeat("jane@example.org ", 1<<16))
	if n := testing.AllocsPerRun(3, func() { Scan(text) }); n > 20 {
		t.Errorf("%v allocations for a mebibyte", n)
	}
}
