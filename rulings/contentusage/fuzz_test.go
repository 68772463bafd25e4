package contentusage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse holds what callers rely on for any value.
func FuzzParse(f *testing.F) {
	seeds := []string{
		"", "train-ai=n", "ai-use=y;x=1;y, search=n", "search=(a \"b\";c 1.5);d=:AA==:", "x=%\"%c3%a9\", y=@12, z=?0",
		"search=n,", "Search=n", "a=-1, a=*t, *b", "search\t=n", "x=\"\\\"\", ai-use=n", strings.Repeat("a,", 40) + "b", "é",
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		v, ok := Parse(value)
		if again, ok2 := Parse(value); ok != ok2 || !cmp.Equal(v, again) {
			t.Fatalf("%q is %+v, then %+v", value, v, again)
		}
		if ok && strings.ContainsFunc(value, func(r rune) bool { return r > '~' }) {
			t.Fatalf("%q has an octet outside ASCII and parses (T48)", value)
		}
		if !ok && !cmp.Equal(v, Value{}) || len(v.Others) > maxOthers {
			t.Fatalf("%q: %+v, %v", value, v, ok)
		}
		for _, name := range v.Others {
			if len(name) > maxOther || !strings.Contains(value, name) {
				t.Fatalf("%q records %q", value, name)
			}
		}
		if fields, ok2 := ParseFields([]string{value}); ok != ok2 || !cmp.Equal(v, fields) {
			t.Fatalf("one field line of %q: %+v, %v", value, fields, ok2)
		}
		checkLastCounts(t, value, ok && strings.Trim(value, " ") != "")
	})
}

// checkLastCounts adds names to a value, which parses if the value does, and
// then they count whatever stood before (T47).
func checkLastCounts(t *testing.T, value string, parses bool) {
	if len(value) > MaxBytes/2 {
		return
	}
	v, ok := ParseFields([]string{value, "ai-use=n, search=y, train-ai"})
	if parses && (!ok || v.AIUse != Disallow || v.Search != Allow || v.TrainAI != Unknown) {
		t.Fatalf("%q and a line: %+v, %v", value, v, ok)
	}
}
