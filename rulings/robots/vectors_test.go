package robots

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/vectors"
)

// A vector is one case of a robots.json. Its inputs come in several spellings,
// which text reads.
type vector map[string]json.RawMessage

// runners holds, for each kind of case that this package can answer, the rules
// it shows and how it is run. Kind fetch is about asking for the file, which is
// not done here.
var runners = map[string]func(*testing.T, vector){
	"access":   runAccess,
	"lines":    runLines,
	"match":    runMatch,
	"form":     runForm,
	"readings": runReadings,
}

// TestVectorsT21ToT45 runs every robots.json below the folder that
// WAYLEAVE_VECTORS names, or below testdata/vectors.
func TestVectorsT21ToT45(t *testing.T) {
	count := make(map[string]int)
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "robots.json", nil) {
		kind := text[string](t, v, "kind")
		run, ok := runners[kind]
		if !ok {
			if kind != "fetch" {
				t.Errorf("%s is of the unknown kind %q", v["id"], kind)
			}
			continue
		}
		count[kind]++
		t.Run(text[string](t, v, "id"), func(t *testing.T) { run(t, v) })
	}
	for kind := range runners {
		if count[kind] == 0 {
			t.Errorf("no case of kind %s", kind)
		}
	}
}

// text reads an input of v: plain, or as octets in name_b64, or as repeated
// pieces in name_parts. An input that is not there is the zero value.
func text[T any](t *testing.T, v vector, name string) (value T) {
	t.Helper()
	into := func(raw json.RawMessage, to any) {
		if err := json.Unmarshal(raw, to); err != nil {
			t.Fatalf("%s of %s: %v", name, v["id"], err)
		}
	}
	if raw, ok := v[name]; ok {
		into(raw, &value)
	}
	s, isText := any(&value).(*string)
	if raw, ok := v[name+"_b64"]; ok && isText {
		var octets string
		into(raw, &octets)
		decoded, err := base64.StdEncoding.DecodeString(octets)
		if err != nil {
			t.Fatal(err)
		}
		*s = string(decoded)
	}
	if raw, ok := v[name+"_parts"]; ok && isText {
		var parts []struct {
			S string
			N int
		}
		into(raw, &parts)
		for _, p := range parts {
			*s += strings.Repeat(p.S, p.N)
		}
	}
	return value
}

func selection(t *testing.T, v vector) Selection {
	f := Parse([]byte(text[string](t, v, "robots")))
	return f.Select(text[[]string](t, v, "tokens"), text[string](t, v, "user_agent"))
}

func runAccess(t *testing.T, v vector) {
	want := text[struct{ Access, Rule *string }](t, v, "expect")
	got := selection(t, v).Access(NewPage(text[string](t, v, "target")))
	answer, rule := "allow", ""
	for _, d := range got.Decisions {
		rule = d.Rule
	}
	if got.Refused != nil {
		answer, rule = "refuse", got.Refused.Rule
	}
	if got.OverLimit {
		answer = "refuse"
	}
	if want.Access != nil && answer != *want.Access {
		t.Errorf("%s: access %s, want %s", v["about"], answer, *want.Access)
	}
	if want.Rule != nil && rule != *want.Rule {
		t.Errorf("%s: rule %q, want %q", v["about"], rule, *want.Rule)
	}
}

func runLines(t *testing.T, v vector) {
	base, err := url.Parse(text[string](t, v, "base"))
	if err != nil {
		t.Fatal(err)
	}
	s := selection(t, v)
	delay := s.Delay()
	var ms *int64
	if delay.Known {
		ms = &delay.Milliseconds
	}
	named := s.Licences(base, 0)
	licences := slices.DeleteFunc(slices.Clone(named), func(l string) bool { return l == "" })
	expect := text[vector](t, v, "expect")
	for member, got := range map[string]any{
		"groups": s.Groups(), "delay_ms": ms, "delays_unreadable": append([]string{}, delay.Unreadable...),
		"licences": append([]string{}, licences...), "licences_unread": len(named) - len(licences),
	} {
		want, ok := expect[member]
		if !ok {
			continue
		}
		var gotJSON, wantJSON any
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(json.Unmarshal(encoded, &gotJSON), json.Unmarshal(want, &wantJSON)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantJSON, gotJSON); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", v["about"], member, diff)
		}
	}
}

func runMatch(t *testing.T, v vector) {
	want := text[struct{ Match bool }](t, v, "expect").Match
	pattern, target := text[string](t, v, "pattern"), text[string](t, v, "target")
	p := Compile(pattern)
	if got := p.Match(Form(target)); got != want {
		t.Errorf("%s: %q matches %q: %v, want %v", v["about"], pattern, target, got, want)
	}
}

func runForm(t *testing.T, v vector) {
	want := text[struct{ Form string }](t, v, "expect").Form
	got := ""
	if of := text[string](t, v, "of"); of == "pattern" {
		got, _ = PatternForm(text[string](t, v, "text"))
	} else {
		got = Form(text[string](t, v, "text"))
	}
	if got != want {
		t.Errorf("%s: %q, want %q", v["about"], got, want)
	}
}

func runReadings(t *testing.T, v vector) {
	want := text[struct {
		Readings  []string
		OverLimit bool `json:"over_limit"`
	}](t, v, "expect")
	p := NewPage(text[string](t, v, "target"))
	if p.OverLimit() != want.OverLimit || want.Readings != nil && !slices.Equal(p.Readings(), want.Readings) {
		t.Errorf("%s: %q, over limit %v; want %q, %v", v["about"], p.Readings(), p.OverLimit(), want.Readings, want.OverLimit)
	}
}
