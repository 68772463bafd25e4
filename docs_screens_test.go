package wayleave_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/injection"
	"github.com/wayleave/wayleave/rulings/pii"
)

const screensPage = "docs/screens.md"

// Who reads the page knows each rule, each category and each thing that the screens
// cannot see, and of none that is not there.
func TestO43_TheScreensPageNamesWhatTheScreensDo(t *testing.T) {
	page := read(t, screensPage)
	inCode, inDocs := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(IS\d+) (\w+) `).FindAllStringSubmatch(injection.RuleText(), -1) {
		inCode[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(IS\\d+)` \\| (\\w+) \\|").FindAllStringSubmatch(page, -1) {
		inDocs[m[1]] = m[2]
	}
	if diff := cmp.Diff(inCode, inDocs); diff != "" || len(inCode) < 10 {
		t.Errorf("%d rules of injection (-code +page):\n%s", len(inCode), diff)
	}
	var categories, told []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+): `).FindAllStringSubmatch(pii.RuleText(), -1) {
		categories = append(categories, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\|$").FindAllStringSubmatch(page, -1) {
		told = append(told, m[1])
	}
	if diff := cmp.Diff(categories, told); diff != "" || len(categories) < 6 {
		t.Errorf("%d categories of personal data (-code +page):\n%s", len(categories), diff)
	}
	items := map[string]bool{}
	for _, item := range listItems(page) {
		items[item] = true
	}
	for _, blind := range slices.Concat(injection.Blind(), pii.Blind()) {
		if !items[blind] {
			t.Errorf("%s does not list what the screens cannot see: %s", screensPage, blind)
		}
		delete(items, blind)
	}
	for item := range maps.Keys(items) {
		t.Errorf("%s lists what the code does not: %s", screensPage, item)
	}
}

// The bounds on the page are those of the code.
func TestO46_TheScreensPageHasTheBounds(t *testing.T) {
	page := read(t, screensPage)
	for _, want := range []string{fmt.Sprintf("At most %d findings of each rule", injection.MaxFindings), fmt.Sprintf("at most %d for an input", pii.MaxFindings)} {
		if !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", screensPage, want)
		}
	}
}

// The table of docs/policy.md is what the modes do.
func TestO11_ThePolicyPageHasWhatEachModeDoes(t *testing.T) {
	modes := []rulings.Mode{rulings.ModeObserve, rulings.ModePrefer, rulings.ModeStrict}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| ((?:`[a-z_]+`(?:, )?)+) \\| (carry|refuse) \\| (carry|refuse) \\| (carry|refuse(?: before| after)?) \\|$")
	code := regexp.MustCompile("`([a-z_]+)`")
	told := map[rulings.Reason]bool{}
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/policy.md"), -1) {
		for _, name := range code.FindAllStringSubmatch(m[1], -1) {
			reason := rulings.Reason(name[1])
			told[reason] = true
			for i, mode := range modes {
				if carries := m[2+i] == "carry"; carries != mode.Carries(reason) {
					t.Errorf("docs/policy.md says that %s is carried in mode %s: %v", reason, mode, carries)
				}
			}
		}
	}
	for _, reason := range rulings.Reasons() {
		if reason.Facts().Whose == rulings.WhoseOperator && reason != rulings.TunnelNotListed && !told[reason] {
			t.Errorf("docs/policy.md does not say what the modes do about %s", reason)
		}
	}
}
