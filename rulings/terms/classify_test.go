package terms

import (
	"net/http"
	"testing"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

func TestT18MaxAgeAloneIsRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  time.Duration
	}{
		{"no field", nil, day},
		{"an empty field", []string{""}, day},
		{"a number", []string{"max-age=600"}, 10 * time.Minute},
		{"0", []string{"max-age=0"}, 0},
		{"one second below a day", []string{"max-age=86399"}, day - time.Second},
		{"a day", []string{"max-age=86400"}, day},
		{"more than a day", []string{"max-age=604800"}, day},
		{"more than any number", []string{"max-age=99999999999999999999999"}, day},
		{"zeros in front", []string{"max-age=0060"}, time.Minute},
		{"another letter case", []string{"Max-Age=60"}, time.Minute},
		{"quoted", []string{`max-age="60"`}, time.Minute},
		{"among others", []string{"public , max-age=60, s-maxage=5"}, time.Minute},
		{"on a second line", []string{"no-store", "max-age=60"}, time.Minute},
		{"twice: the first", []string{"max-age=60, max-age=5"}, time.Minute},
		{"twice: the first, which is no number", []string{"max-age=x, max-age=5"}, day},
		{"no-store and no-cache are not read", []string{"no-store, no-cache, must-revalidate"}, day},
		{"s-maxage is not read", []string{"s-maxage=5"}, day},
		{"a word", []string{"max-age=soon"}, day},
		{"nothing behind =", []string{"max-age="}, day},
		{"no =", []string{"max-age"}, day},
		{"a sign", []string{"max-age=-1"}, day},
		{"a plus", []string{"max-age=+60"}, day},
		{"a fraction", []string{"max-age=1.5"}, day},
		{"an exponent", []string{"max-age=1e3"}, day},
		{"other digits", []string{"max-age=٦٠"}, day},
		{"within a quoted string", []string{`ext="a, max-age=5", max-age=60`}, time.Minute},
		{"within a quoted string with an escape", []string{`ext="a\", max-age=5", max-age=60`}, time.Minute},
		{"an open quote", []string{`ext="a, max-age=5`}, day},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := life(tt.lines); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// Every status there can be has a line in the table.
func TestT15EveryStatusIsClassified(t *testing.T) {
	for code := 100; code <= 999; code++ {
		want := rulings.TermUnreachable
		switch {
		case code/100 == 2:
			want = rulings.TermRead
		case code/100 == 4 && code != http.StatusTooManyRequests:
			want = rulings.TermNoRules
		}
		v := robotsKind.verdict(&answer{status: code})
		if v.outcome != want || (want == rulings.TermUnreachable) != (v.cause != "") {
			t.Errorf("%d: %+v", code, v)
		}
	}
}

// A failure is never a permission, whatever status came before it.
func TestT15AFailureIsNeverRead(t *testing.T) {
	for kind, words := range causes {
		v := robotsKind.verdict(&answer{status: 200, failure: Failure{Kind: kind}})
		want := rulings.TermUnreachable
		if kind.edge() || kind == FailureProhibited {
			want = rulings.TermCutShort
		}
		if v.outcome != want || v.cause != words && kind != FailureRedirectUnusable {
			t.Errorf("%s: %+v", kind, v)
		}
	}
	if v := robotsKind.verdict(&answer{status: 200, failure: Failure{Kind: "something new"}}); v.outcome != rulings.TermUnreachable || v.cause == "" {
		t.Errorf("a kind nobody knows: %+v", v)
	}
	if v := robotsKind.verdict(&answer{}); v.outcome != rulings.TermUnreachable {
		t.Errorf("no answer at all: %+v", v)
	}
}
