package injection

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, Title, Policy string
	Crossing          struct {
		Broken   []string
		Response struct{ Type, Text string }
	}
	Expect json.RawMessage
}

// tag is good enough for the pages of the vectors; extraction is tested elsewhere.
var tag = regexp.MustCompile(`<[^>]*>`)

// TestVectorsO46 runs those cases of policy.json, below the folder that
// WAYLEAVE_VECTORS names or below testdata/vectors, whose page this screen reads: the
// rules that are found in it must be those of the record.
func TestVectorsO46(t *testing.T) {
	n, matching := 0, 0
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "policy.json", nil) {
		if !v.screened() {
			continue
		}
		n++
		t.Run(v.ID, func(t *testing.T) {
			var expect struct{ Observe struct{ Rules []string } }
			if err := json.Unmarshal(v.Expect, &expect); err != nil {
				t.Fatal(err)
			}
			if expect.Observe.Rules != nil {
				matching++
			}
			if diff := cmp.Diff(expect.Observe.Rules, rulesIn(v.Crossing.Response.Text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v.Title, diff)
			}
		})
	}
	if n == 0 || matching == 0 {
		t.Errorf("%d cases, %d of them with matches", n, matching)
	}
}

// screened reports whether the screen reads the page of the case: it is on and runs,
// and the page is a text of a source.
func (v vector) screened() bool {
	return strings.Contains(v.Policy, "injection: on") && !strings.Contains(v.Policy, "services") && v.Crossing.Broken == nil &&
		v.Crossing.Response.Text != "" && strings.HasPrefix(v.Crossing.Response.Type, "text/")
}

// rulesIn returns the rules found in a page and in what is left of it without tags,
// each once.
func rulesIn(page string) (rules []string) {
	for _, text := range []string{page, tag.ReplaceAllString(page, "")} {
		found, _ := Scan([]byte(text))
		for _, x := range found {
			if !slices.Contains(rules, x.Rule) {
				rules = append(rules, x.Rule)
			}
		}
	}
	return rules
}
