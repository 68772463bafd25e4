package rsl_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// TestCasesOfLicencesMetInTheWild holds what published files and their readers
// got wrong. The numbers are those of the project's list of cases.
func TestCasesOfLicencesMetInTheWild(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		reason     string // empty where the use ai-input goes on
		remarks    []string
	}{
		{"T01 a made-up word in a prohibition is not guessed at, and permits is closed", licence(`<permits type="usage">search</permits><prohibits type="usage">train-ai</prohibits>`),
			rsl.ReasonNotListed, []string{"usage train-ai"}},
		{"T02 a comma list permits nothing", licence(`<permits type="usage">ai-input,search</permits>`),
			rsl.ReasonNotListed, []string{"usage ai-input,search"}},
		{"T03 answers in the wrong place say nothing", licence(`<permits type="search">yes</permits><permits type="ai-train">no</permits><attribution required="yes"><name>N</name></attribution>`),
			"", []string{"type search", "type ai-train", "element attribution"}},
		{"T04 several lists without the word", licence(`<permits type="usage">search</permits><permits type="usage">citation</permits><payment type="attribution"/>`),
			rsl.ReasonNotListed, []string{"usage citation"}},
		{"T04 several lists are united", licence(`<permits type="usage">search</permits><permits type="usage">citation</permits><permits type="usage">ai-input</permits><payment type="attribution"/>`),
			"", []string{"usage citation"}},
		{"T05 an obvious intention is no permission", licence(`<permits type="usage">search grounding</permits><payment type="royalty">free</payment>`),
			rsl.ReasonNotListed, []string{"usage grounding", "payment royalty"}},
		{"T05 nor is the text of a payment", licence(`<payment type="royalty">free</payment>`),
			rsl.ReasonPayment, []string{"payment royalty"}},
		{"T06 a prefix changes nothing", `<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license><r:prohibits type="usage">ai-input</r:prohibits></r:license></r:content></r:rsl>`,
			rsl.ReasonProhibits, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := rule(t, tt.text, "ai-input", rsl.Operator{}); v.Reason != tt.reason {
				t.Errorf("%q, want %q", v.Reason, tt.reason)
			}
			if got := remarks(parse(t, tt.text)); !slices.Equal(got, tt.remarks) {
				t.Errorf("listed %q, want %q", got, tt.remarks)
			}
		})
	}
}

func TestCaseT06AMissingNamespaceIsNeverMorePermissive(t *testing.T) {
	_, err := rsl.Parse([]byte(`<rsl><content url="/"><license><prohibits type="usage">ai-input</prohibits></license></content></rsl>`))
	if f, ok := err.(*rsl.Fault); !ok || f.Cause != rsl.CauseNotRSL {
		t.Error(err)
	}
}

// entityBomb is a document type of entities that each stand for ten of the one
// before, and a copyright of 10^10 octets.
func entityBomb() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE rsl [<!ENTITY a0 \"x\">")
	for i := '1'; i <= '9'; i++ {
		b.WriteString("<!ENTITY a" + string(i) + " \"" + strings.Repeat("&a"+string(i-1)+";", 10) + "\">")
	}
	b.WriteString("]>" + document("<content url='/'><copyright>&a9;</copyright></content>"))
	return b.String()
}

func TestCaseT08AnEntityBombIsUnread(t *testing.T) {
	bomb := []byte(entityBomb())
	var err error
	if n := allocated(func() { _, err = rsl.Parse(bomb) }); n > 1<<20 {
		t.Errorf("%d octets of memory", n)
	}
	if f, ok := err.(*rsl.Fault); !ok || f.Cause != rsl.CauseXML || f.Kind != "document type declaration" {
		t.Error(err)
	}
}

// allocated returns how much memory f asks for.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestCaseT10AnEntityOfHTMLIsUnreadAndNotQuoted(t *testing.T) {
	text := document(`<content url="/"><license><payment type="free"/></license><copyright>&copy; 2026</copyright></content>`)
	_, err := rsl.Parse([]byte(text))
	f, ok := err.(*rsl.Fault)
	if !ok || f.Cause != rsl.CauseXML || f.Offset != int64(strings.Index(text, "&copy;")) || strings.Contains(err.Error(), "copy;") {
		t.Error(err)
	}
}
