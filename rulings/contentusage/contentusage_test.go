package contentusage

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseT46T47(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        Value
	}{
		{"each name speaks for itself", "train-ai=n, ai-use=y, search=n", Value{TrainAI: Disallow, AIUse: Allow, Search: Disallow}},
		{"the empty value says nothing", "", Value{}},
		{"a capital Y is another word", "search=Y", Value{}},
		{"a longer word is another word", "search=yes", Value{}},
		{"a String is no Token", `search="n"`, Value{}},
		{"a name alone is the Boolean true", "search", Value{}},
		{"a Boolean says nothing", "search=?0", Value{}},
		{"an inner list says nothing", "search=(n)", Value{}},
		{"a byte sequence says nothing", "search=:bg==:", Value{}},
		{"a number says nothing", "search=0", Value{}},
		{"a date says nothing", "search=@0", Value{}},
		{"a display string says nothing", `search=%"n"`, Value{}},
		{"parameters are ignored", `search=n;why="no, not now";x`, Value{Search: Disallow}},
		{"the last of repeated names counts", "search=n, search=y", Value{Search: Allow}},
		{"even when it cannot be used", "search=n, search", Value{}},
		{"a tab may stand round a comma", "search=n\t,\tai-use=n", Value{Search: Disallow, AIUse: Disallow}},
		{"leading spaces are dropped", "   search=n", Value{Search: Disallow}},
		{"a comma inside a String parts nothing", `x="a, search=n"`, Value{Others: []string{"x"}}},
		{"retired names are recorded and rule nothing", "bots=n, all=n, tdm=n, ai=n, genai=n, train-genai=n, ai-output=n, inference=n",
			Value{Others: []string{"bots", "all", "tdm", "ai", "genai", "train-genai", "ai-output", "inference"}}},
		{"so are Content-Signal's", "ai-input=n, ai-train=n", Value{Others: []string{"ai-input", "ai-train"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Parse(tt.value)
			if !ok {
				t.Fatalf("%q does not parse", tt.value)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.value, diff)
			}
		})
	}
}

func TestParseT47AValueThatDoesNotParseAsAWholeSaysNothing(t *testing.T) {
	for name, value := range map[string]string{
		"a capital in a name":              "search=n, Search=n",
		"white space before the sign":      "search =n",
		"white space behind the sign":      "search= n",
		"a comma at the end":               "search=n,",
		"two commas":                       "search=n,,ai-use=n",
		"no comma":                         "search=n ai-use=n",
		"a semicolon for a comma":          "search=n; Ai-use=n",
		"nothing behind the sign":          "search=",
		"a quote left open":                `search=n, x="a`,
		"an inner list left open":          "search=n, x=(a",
		"a byte sequence left open":        "search=n, x=:AA",
		"a number too long":                "search=n, x=1234567890123456",
		"a decimal without a fraction":     "search=n, x=1.",
		"a minus alone":                    "search=n, x=-",
		"a date with a fraction":           "search=n, x=@1.5",
		"an escape of another octet":       `search=n, x="\a"`,
		"a control octet":                  "search=n, x=\"\x01\"",
		"a display string in capital hex":  `search=n, x=%"%C3%A9"`,
		"a display string that is no text": `search=n, x=%"%ff"`,
		"an octet outside ASCII":           "search=n, x=\"é\"",
		"a byte order mark":                "\xef\xbb\xbfsearch=n",
		"a leading tab":                    "\tsearch=n",
		"a line end":                       "search=n\n",
		"a NUL":                            "search=n\x00",
		"a List":                           "(search)",
	} {
		t.Run(name, func(t *testing.T) {
			if v, ok := Parse(value); ok || !cmp.Equal(v, Value{}) {
				t.Errorf("%q: %+v, %v", value, v, ok)
			}
		})
	}
}

func TestParseFieldsT48(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  Value
		ok    bool
	}{
		{"no line says nothing", nil, Value{}, true},
		{"T26 in the list of cases: two lines are one Dictionary", []string{"train-ai=y", "ai-use=n"}, Value{TrainAI: Allow, AIUse: Disallow}, true},
		{"the last of names repeated in two lines counts", []string{"ai-use=n", "ai-use=y"}, Value{AIUse: Allow}, true},
		{"a line that does not parse costs the others", []string{"ai-use=n", "AI"}, Value{}, false},
		{"so does an empty one", []string{"ai-use=n", ""}, Value{}, false},
		{"and one with an octet outside ASCII", []string{"ai-use=n", "x=\"\xe9\""}, Value{}, false},
		{"a String does not go on in the next line unseen", []string{`x="a`, `b", ai-use=n`}, Value{AIUse: Disallow, Others: []string{"x"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseFields(tt.lines)
			if ok != tt.ok {
				t.Fatalf("parses: %v", ok)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseBoundsTheNamesItRecords(t *testing.T) {
	v, ok := Parse(strings.Repeat("a", 1000) + ", " + strings.Join(strings.Split("bcdefghijklmnopqrstuvwxyz", ""), ", ") + ", ai-use=n")
	if !ok || v.AIUse != Disallow || len(v.Others) != maxOthers || len(v.Others[0]) != maxOther || v.Others[1] != "b" {
		t.Errorf("%+v, %v", v, ok)
	}
}

func TestParseT47TheLongestValueIsThatOfARobotsFile(t *testing.T) {
	value := `ai-use=n, x="` + strings.Repeat("a", MaxBytes-14) + `"`
	if v, ok := Parse(value); !ok || v.AIUse != Disallow {
		t.Errorf("at the bound: %v, %v", v.AIUse, ok)
	}
	if v, ok := Parse(value + " "); ok || v.AIUse != Unknown {
		t.Errorf("over the bound: %v, %v", v.AIUse, ok)
	}
	half := `x="` + strings.Repeat("a", MaxBytes/2-4) + `"` // of MaxBytes/2 octets
	if _, ok := ParseFields([]string{half, half[:len(half)-3] + `"`}); !ok {
		t.Error("two lines at the bound do not parse")
	}
	if _, ok := ParseFields([]string{half, half[:len(half)-2] + `"`}); ok {
		t.Error("two lines over the bound parse")
	}
	if _, ok := ParseFields(make([]string, MaxBytes)); ok {
		t.Error("half a million empty lines parse")
	}
}

// hostile are values that hold as many parts as can be for their length.
func hostile(length int) map[string]string {
	fill := func(before, part, after string) string {
		return before + strings.Repeat(part, (length-len(before)-len(after))/len(part)) + after
	}
	return map[string]string{
		"names":                        fill("", "a,", "a"),
		"parameters":                   fill("a", ";a", ""),
		"names with parameters":        fill("", "a;b,", "a"),
		"items":                        fill("a=(", "1 ", ")"),
		"items with parameters":        fill("a=(", "1;b ", ")"),
		"inner lists":                  fill("", "a=(),", "a"),
		"strings":                      fill("a=(", `"" `, ")"),
		"escapes":                      fill(`a="`, `\\`, `"`),
		"byte sequences":               fill("a=(", ":: ", ")"),
		"display strings":              fill("a=(", `%"" `, ")"),
		"white space":                  fill("a,", " ", "a"),
		"nested lists, which are none": fill("a=", "(", ""),
		"dates":                        fill("a=(", "@1 ", ")"),
		"different names":              different(length),
	}
}

// different returns names of which no two are the same.
func different(length int) string {
	const octets = "abcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	for i := 0; b.Len() < length-8; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		for n := i; ; n /= len(octets) {
			b.WriteByte(octets[n%len(octets)])
			if n < len(octets) {
				break
			}
		}
	}
	return b.String()
}

func TestParseHostileValuesTakeBoundedMemory(t *testing.T) {
	for name, value := range hostile(MaxBytes) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, _ := Parse(value)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 200*MaxBytes {
				t.Errorf("%d octets took %d", len(value), used)
			}
			if v.AIUse != Unknown || v.Search != Unknown || v.TrainAI != Unknown {
				t.Errorf("says %+v", v)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, value string }{
		{"one name", "train-ai=n"},
		{"three names", "train-ai=n, ai-use=y, search=y"},
		{"the dearest", hostile(MaxBytes)["items with parameters"]},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.value)))
			for b.Loop() {
				Parse(bb.value)
			}
		})
	}
}
