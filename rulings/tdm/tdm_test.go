package tdm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestT95_Values(t *testing.T) {
	for value, want := range map[string]Reservation{
		`1`: Reserved, `"1"`: Reserved, `true`: Reserved, `1.0`: Reserved, `10e-1`: Reserved,
		`0`: NotReserved, `"0"`: NotReserved, `false`: NotReserved, `-0`: NotReserved,
		`2`: Unset, `-1`: Unset, `1e999`: Unset, `"true"`: Unset, `"1 "`: Unset, `""`: Unset, `null`: Unset, `[1]`: Unset, `{"tdm-reservation":1}`: Unset,
	} {
		f, err := Parse([]byte(`[{"tdm-reservation":` + value + `,"location":"/"}]`))
		if err != nil || len(f.Entries) != 1 || f.Entries[0].Reservation != want {
			t.Errorf("%s: %+v, %v, want %s", value, f, err, want)
		}
	}
}

func TestT95_FieldLines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  Reservation
	}{
		{"none", nil, Unset},
		{"one", []string{"1"}, Reserved},
		{"white space round it", []string{"\t1 "}, Reserved},
		{"zero", []string{"0"}, NotReserved},
		{"a 1 wins over a later 0", []string{"1", "0"}, Reserved},
		{"lines joined on the way", []string{"0, 1"}, Reserved},
		{"a 0 beside what is unknown", []string{"x", "0"}, NotReserved},
		{"a word", []string{"true", "01", "1;a", "+1", "1.0", ""}, Unset},
	} {
		if got := Field(tt.lines); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestT96_Files(t *testing.T) {
	for _, tt := range []struct {
		name string
		body string
		want []Entry
	}{
		{"in sequence", `[{"location":"/a","tdm-reservation":1},{"location":"/","tdm-reservation":0}]`, []Entry{{"/a", Reserved, ""}, {"/", NotReserved, ""}}},
		{"empty", " [ ] \n", nil},
		{"a byte order mark", "\xef\xbb\xbf[{\"location\":\"*\"}]", []Entry{{"*", Unset, ""}}},
		{"a location that is empty, absent or no text", `[{"location":"","tdm-reservation":1},{"tdm-reservation":1},{"location":["/"],"tdm-reservation":1}]`, nil},
		{"elements that are no objects", `[null,1,"x",[{"location":"/no"}],{"location":"/a"}]`, []Entry{{"/a", Unset, ""}}},
		{"names of another letter case", `[{"Location":"/","location":"/a","TDM-Reservation":1}]`, []Entry{{"/a", Unset, ""}}},
		{"of repeated reservations a 1 wins", `[{"location":"/","tdm-reservation":1,"tdm-reservation":0}]`, []Entry{{"/", Reserved, ""}}},
		{"of repeated locations the last counts", `[{"location":"/a","location":"/b"}]`, []Entry{{"/b", Unset, ""}}},
		{"members that are not known", `[{"x":{"location":"/no","y":[[],{}]},"location":"/a","z":null}]`, []Entry{{"/a", Unset, ""}}},
		{"a policy where something is reserved", `[{"location":"/","tdm-reservation":1,"tdm-policy":"p"},{"location":"/","tdm-reservation":0,"tdm-policy":"p"}]`, []Entry{{"/", Reserved, "p"}, {"/", NotReserved, ""}}},
		{"a policy that is no text", `[{"location":"/","tdm-reservation":1,"tdm-policy":{"a":1}}]`, []Entry{{"/", Reserved, ""}}},
		{"a location without a slash reserves below the root and permits nothing", `[{"location":"a","tdm-reservation":0},{"location":"a","tdm-reservation":1}]`, []Entry{{"/a", Reserved, ""}}},
		{"T31 a fragment goes", `[{"location":"/a#x","tdm-reservation":1},{"location":"#x","tdm-reservation":1},{"location":"a#","tdm-reservation":1}]`, []Entry{{"/a", Reserved, ""}, {"/a", Reserved, ""}}},
		{"escapes in a name and a location", `[{"locati\u006fn":"\/\u0061"}]`, []Entry{{"/a", Unset, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, f.Entries, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT96_WhatIsNoFile(t *testing.T) {
	for _, body := range []string{
		"", " ", "null", "1", `"x"`, `{}`, `[`, `[{]`, `[{"location":"/"}`, `[{"location":"/"},]`, `[{"location":"/"}] x`, `[]{}`, "<html>", "[{'location':'/'}]", "[1e]", "\xff\xfe[\x00]\x00",
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000), strings.Repeat("[", MaxBytes), "[" + strings.Repeat(" ", MaxBytes) + "]",
	} {
		if f, err := Parse([]byte(body)); err == nil || f != nil {
			t.Errorf("%.40q: %+v, %v", body, f, err)
		}
	}
}

func TestT96_TheFirstThatMatchesDecides(t *testing.T) {
	f, err := Parse([]byte(`[{"location":"/a/","tdm-reservation":0},{"location":"/a/b","tdm-reservation":1},{"location":"/","tdm-reservation":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]Reservation{"/a/b": NotReserved, "/b": Reserved, "/a//../b": Reserved} {
		if got := ofPage(f, target); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	if e, ok := f.First(func(int) bool { return false }); ok || e != (Entry{}) {
		t.Errorf("nothing matches: %+v", e)
	}
}

// largest is as many entries as fit.
func largest() []byte {
	var b strings.Builder
	b.WriteString("[{}")
	for i := 0; b.Len() < MaxBytes-60; i++ {
		fmt.Fprintf(&b, `,{"location":"/%d","tdm-reservation":%d}`, i, i%3)
	}
	b.WriteString("]")
	return []byte(b.String())
}

// check holds what T96 says of any file.
func check(t *testing.T, body []byte) {
	t.Helper()
	f, err := Parse(body)
	again, _ := Parse(body)
	if diff := cmp.Diff(f, again); diff != "" {
		t.Fatalf("a second reading differs:\n%s", diff)
	}
	if (f == nil) == (err == nil) {
		t.Fatalf("%+v, %v", f, err)
	}
	if f == nil {
		return
	}
	for _, e := range f.Entries {
		if e.Location == "" || e.Location[0] != '/' && e.Location[0] != '*' || e.Policy != "" && e.Reservation != Reserved {
			t.Fatalf("%+v", e)
		}
	}
	if len(f.Entries) > 1+len(body)/len(`{"location":"*"}`) {
		t.Fatalf("%d entries of %d octets", len(f.Entries), len(body))
	}
}

func TestT96_HostileFiles(t *testing.T) {
	for _, body := range []string{
		string(largest()), strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "[" + strings.Repeat("{},", 1<<16) + "{}]", `[{"location":"` + strings.Repeat("*", 1<<18) + `"}]`,
		`[{` + strings.Repeat(`"location":"/",`, 1<<14) + `"x":1}]`, "[{\"location\":\"\xff\"}]", `[{"location":"\ud800"}]`, `[{"tdm-reservation":` + strings.Repeat("1", 1<<18) + `,"location":"/"}]`,
	} {
		check(t, []byte(body))
	}
}

func FuzzParse(f *testing.F) {
	seeds := []string{
		"", "[]", `[{"location":"/a*$","tdm-reservation":1,"tdm-policy":"p"},{"location":"b","tdm-reservation":"0"}]`, `[null,[{}],{"location":1,"x":{"y":[]}}]`, `{"location":"/"}`, "\xef\xbb\xbf[1,true]", `[{"location":"/"}] x`,
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(check)
}

func FuzzField(f *testing.F) {
	seeds := []string{"", "1", "0, 1", "\t0", "true"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s, "0")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		both := Field([]string{a, b})
		if both != max(Field([]string{a}), Field([]string{b})) || both != Field([]string{b + "," + a}) {
			t.Fatalf("%q, %q: %s", a, b, both)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct {
		name string
		body []byte
	}{
		{"a usual file", []byte(`[{"location":"/","tdm-reservation":1,"tdm-policy":"https://o.example/policy.json"},{"location":"/open/*","tdm-reservation":0}]`)},
		{"the largest file", largest()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bb.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
