package admin

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const gapLine = `{"seq":%d,"timestamp":"2026-03-04T05:06:%02d.000Z","event":"%s","payload":{"edge":"e1"%s}}` + "\n"

// plantGaps makes a session in which gaps of both kinds stand between crossings.
func plantGaps(w *world) {
	var log string
	for seq, r := range []struct{ event, rest string }{
		{"edge_started", `,"session":"gaps"`},
		{"evidence_gap", `,"reason":"unclean_stop","detail":"x"`},
		{"crossing_mediated", `,"grade":"mediated","outcome":"delivered","url":"http://a.test/"`},
		{"crossing_observed", `,"grade":"observed","outcome":"delivered","gaps":[{"reason":"capability_unavailable","detail":"x"}]`},
		{"crossing_undelivered", `,"crossing":3`},
		{"allowance_gap", `,"reason":"x"`},
		{"processor_invoked", `,"gaps":[{"reason":"evidence_missing","detail":"x"},{"reason":"unenforceable","detail":"x"}]`},
		{"processor_invoked", ``},
	} {
		log += fmt.Sprintf(gapLine, seq+1, seq+1, r.event, r.rest)
	}
	w.write("gaps", log)
}

func TestGapsA10E22ListsGapsOfBothKindsNewestFirst(t *testing.T) {
	w := newWorld(t, nil)
	plantGaps(w)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"session=gaps", []string{"gaps/7", "gaps/6", "gaps/4", "gaps/2"}},
		{"session=gaps&reason=unclean_stop", []string{"gaps/2"}},
		{"session=gaps&reason=capability_unavailable", []string{"gaps/4"}},
		{"session=gaps&reason=unenforceable", []string{"gaps/7"}},
		{"session=gaps&reason=allowance_gap", []string{"gaps/6"}},
		{"reason=torn_record", nil},
		{"session=gaps&from=2026-03-04T05:06:04Z&to=2026-03-04T05:06:07Z", []string{"gaps/6", "gaps/4"}},
		{"session=nobody", nil},
	} {
		t.Run(c.query, func(t *testing.T) {
			ids, _ := w.walk("/v1/gaps?" + c.query)
			if d := cmp.Diff(c.want, ids); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			paged, calls := w.walk("/v1/gaps?limit=1&" + c.query)
			if d := cmp.Diff(c.want, paged); d != "" || calls < len(c.want) {
				t.Errorf("page by page, %d calls (-want +got):\n%s", calls, d)
			}
		})
	}
}

func TestGapsA3UnknownOrBadParametersAreNamed(t *testing.T) {
	w := newWorld(t, nil)
	for _, query := range []string{"host=a.test", "reason=", "reason=A%20B", "session=../x", "from=yesterday", "limit=0", "cursor="} {
		if a := w.get("/v1/gaps?" + query); a.StatusCode != 400 {
			t.Errorf("%s: status %d, want 400", query, a.StatusCode)
		}
	}
}
