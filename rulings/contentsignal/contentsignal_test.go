package contentsignal

import (
	"strings"
	"testing"
)

func TestParseT51ToT54(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        Value
	}{
		{"members are parted by commas", "search=yes,ai-train=no", Value{Search: Allow, AITrain: Disallow}},
		{"T21 in the list of cases: blanks and letter case", "ai-train=yes , search=YES,  ai-input=No", Value{AITrain: Allow, Search: Allow, AIInput: Disallow}},
		{"a semicolon is a comma", "search=yes;ai-input=no", Value{Search: Allow, AIInput: Disallow}},
		{"white space is a comma", "search=yes ai-input=no\tai-train=no\vuse=full", Value{Search: Allow, AIInput: Disallow, AITrain: Disallow, Use: Full}},
		{"white space round the sign is dropped", "ai-input = no,ai-train =\tno, search= yes", Value{AIInput: Disallow, AITrain: Disallow, Search: Allow}},
		{"separators may be many", " ,; ,ai-input=no,, ;", Value{AIInput: Disallow}},
		{"names have no letter case", "AI-Input=no", Value{AIInput: Disallow}},
		{"names are compared whole", "xai-input=no, ai-inputs=no, ai_input=no, input=no", Value{}},
		{"letters of other scripts are none of these", "\u017fearch=no, u\u017fe=immediate, ai-input=\u212a", Value{AIInput: Unknown}},
		{"n is a no", "ai-input=n", Value{AIInput: Disallow}},
		{"false is a no", "ai-input=FALSE", Value{AIInput: Disallow}},
		{"disallow is a no", "ai-input=disallow", Value{AIInput: Disallow}},
		{"deny is a no", "ai-input=Deny", Value{AIInput: Disallow}},
		{"y is stated and says nothing", "ai-input=y", Value{AIInput: Unknown}},
		{"so is true", "ai-input=true", Value{AIInput: Unknown}},
		{"so is a word in quotes", `ai-input="no"`, Value{AIInput: Unknown}},
		{"so is a word that only begins with no", "ai-input=none", Value{AIInput: Unknown}},
		{"so is nothing behind the sign", "ai-input=", Value{AIInput: Unknown}},
		{"or before a comma", "ai-input= , search=no", Value{AIInput: Unknown, Search: Disallow}},
		{"so is a second sign", "ai-input==no", Value{AIInput: Unknown}},
		{"a name alone states nothing", "ai-input, search", Value{}},
		{"nor does a word without a name", "=no", Value{}},
		{"a colon is no sign", "ai-input:no", Value{}},
		{"other names say nothing", "train-ai=n, ai-use=n, other=yes", Value{}},
		{"no wins over a yes after it", "ai-input=no, ai-input=yes", Value{AIInput: Disallow}},
		{"and over one before it", "ai-input=yes, ai-input=no", Value{AIInput: Disallow}},
		{"use=immediate", "use=immediate", Value{Use: Immediate}},
		{"use=reference", "USE=Reference", Value{Use: Reference}},
		{"use=full", "use=full", Value{Use: Full}},
		{"use with another word", "use=none", Value{Use: Other}},
		{"of two uses the stricter holds", "use=full, use=immediate, use=reference", Value{Use: Immediate}},
		{"octets that are no text are octets", "\xff=no, ai-input=\xff, search=no\x00", Value{AIInput: Unknown, Search: Unknown}},
		{"nothing says nothing", "", Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Parse(tt.value); got != tt.want {
				t.Errorf("%q: %+v, want %+v", tt.value, got, tt.want)
			}
		})
	}
}

func TestParseFieldsT51AllLinesCount(t *testing.T) {
	got := ParseFields([]string{"search=yes, use=reference", "ai-input=no, search=no", "", "ai-input=yes"})
	if want := (Value{Search: Disallow, AIInput: Disallow, Use: Reference}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ParseFields([]string{"ai-input", "=no"}); got != (Value{}) {
		t.Errorf("a member goes on in the next line: %+v", got)
	}
}

func TestParseFieldsT51HaveNoPath(t *testing.T) {
	if got := ParseFields([]string{"/page ai-input=no"}); got.AIInput != Disallow {
		t.Errorf("%+v", got)
	}
}

func TestPoolT107IsTheStrictestOfEachName(t *testing.T) {
	got := Pool(Value{Search: Allow, AIInput: Disallow, Use: Full}, Value{Search: Unknown, AITrain: Unknown, Use: Other}, Value{AITrain: Allow, AIInput: Allow})
	if want := (Value{Search: Allow, AIInput: Disallow, AITrain: Allow, Use: Full}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Pool(); got != (Value{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestParseHostileValuesAllocateNothing(t *testing.T) {
	const length = 524288
	for name, part := range map[string]string{
		"signs": "=", "separators": " ", "names alone": "ai-input ", "names and blanks before no sign": "ai-input" + strings.Repeat(" ", 1000),
		"members": "ai-input=no,", "empty words": "ai-input= ", "one long word": "x", "octets": "\xff\x00", "signs and blanks": "= ",
	} {
		t.Run(name, func(t *testing.T) {
			value := strings.Repeat(part, length/len(part))
			if n := testing.AllocsPerRun(10, func() { Parse(value) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	seeds := []string{
		"", "search=yes,ai-input=no", "ai-train = n; use=immediate use=full", "=,=;= =", "ai-input", "AI-INPUT==no", "use\t=\treference",
		"search=deny\x00", "\xff=\xfe", "/path ai-input=no", "ai-input=y, ai-input=false",
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		v := Parse(value)
		if v != Parse(value) || v.AIInput > Disallow || v.Search > Disallow || v.AITrain > Disallow || v.Use > Immediate {
			t.Fatalf("%q: %+v", value, v)
		}
		if again := ParseFields([]string{value, value}); again != v {
			t.Fatalf("%q twice says %+v, once %+v", value, again, v)
		}
		if upper := Parse(upperASCII(value)); upper != v {
			t.Fatalf("%q in capitals says %+v, not %+v", value, upper, v)
		}
		// A no that follows counts, and adds to what stood before (T54).
		want := Pool(v, Value{AIInput: Disallow, Use: Immediate})
		if got := ParseFields([]string{value, "ai-input=no, use=immediate"}); got != want {
			t.Fatalf("%q and a no: %+v, want %+v", value, got, want)
		}
	})
}

func upperASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("search=yes, ai-input=no, ai-train=no, use=reference")
	}
}
