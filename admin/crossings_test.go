package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list is any list of crossings.
type list struct {
	Items []struct {
		Session string
		Seq     uint64
		Event   string
		Payload map[string]any
	}
	Next   string
	Faulty []string
}

func (l list) ids() (ids []string) {
	for _, item := range l.Items {
		ids = append(ids, fmt.Sprintf("%s/%d", item.Session, item.Seq))
	}
	return ids
}

// walk follows the pages of path to the end.
func (w *world) walk(path string) (ids []string, calls int) {
	w.t.Helper()
	next := path
	for {
		var page list
		w.get(next).into(w.t, &page)
		ids = append(ids, page.ids()...)
		if calls++; page.Next == "" || calls > 1000 {
			return ids, calls
		}
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		next = path + sep + "cursor=" + url.QueryEscape(page.Next)
	}
}

func crossingLine(seq int, host string) string {
	return fmt.Sprintf(`{"seq":%d,"timestamp":"2026-03-04T05:06:07.089Z","event":"crossing_mediated","payload":{"edge":"e1","grade":"mediated","class":"source","outcome":"delivered","url":"http://%s/"}}`, seq, host)
}

func TestCrossingsA6ListsFinalRecordsNewestFirst(t *testing.T) {
	w := newWorld(t, nil)
	var page list
	w.get("/v1/crossings").into(t, &page)
	want := []string{fmt.Sprintf("agent-1/%d", w.final), fmt.Sprintf("agent-1/%d", w.refused), fmt.Sprintf("agent-1/%d", w.delivered)}
	if diff := cmp.Diff(want, page.ids()); diff != "" || page.Next != "" {
		t.Errorf("next %q, %s", page.Next, diff)
	}
	w.get("/v1/refusals").into(t, &page)
	if !slices.Equal(page.ids(), want[1:2]) || page.Items[0].Event != "crossing_refused" {
		t.Errorf("the refusals are %+v", page)
	}
	filters := map[string][]string{
		"session=agent-1&limit=1000": want, "session=other": nil, "host=A.TEST": want, "host=b.test": nil, "url=https://a.test/s": want[:1],
		"reason=robots_disallow": want[1:2], "whose=source": want[1:2], "whose=operator": nil, "status=403": want[1:2], "status=200": {want[0], want[2]},
		"class=source": want, "class=service": nil, "outcome=refused": want[1:2], "gap=true": nil, "gap=false": want, "breach=true": nil,
		"from=2001-01-01T00:00:00Z": want, "to=2001-01-01T00:00:00Z": nil,
		"term=" + w.object()[7:]: want, "term=" + w.object(): want, "term=" + strings.Repeat("a", 64): nil,
	}
	for query, want := range filters {
		page = list{}
		w.get("/v1/crossings?"+query).into(t, &page)
		if !slices.Equal(page.ids(), want) {
			t.Errorf("%s lists %q, want %q", query, page.ids(), want)
		}
	}
	if a := w.get("/v1/crossings?session=other"); string(a.body) != "{\"items\":[]}\n" {
		t.Errorf("an empty list is %s", a.body)
	}
}

// object is the digest of the term that the crossings were ruled on.
func (w *world) object() string {
	var view struct{ Terms []termLink }
	w.get(fmt.Sprintf("/v1/crossings/agent-1/%d", w.refused)).into(w.t, &view)
	return view.Terms[0].Object
}

func TestCrossingsA6RefuseSillyParameters(t *testing.T) {
	w := newWorld(t, nil)
	queries := []string{
		"limit=1000000000", "limit=1001", "limit=-1", "limit=0", "limit=abc", "limit=", "limit=1.5", "limit=0x10", "limit=010", "limit=99999999999999999999",
		"cursor=", "cursor=x", "cursor=AAAA", "session=", "session=..", "host=", "host=a%20b", "host=a.test:80", "url=", "reason=", "reason=nonsense", "reason=robots_Disallow",
		"whose=agent", "class=Source", "outcome=ok", "term=", "term=robots", "term=" + strings.Repeat("A", 64), "status=99", "status=1000", "status=099", "status=4xx", "status=+40", "from=yesterday",
		"from=2026-01-01", "to=1", "gap=yes", "gap=", "breach=1",
	}
	for _, query := range queries {
		name, _, _ := strings.Cut(query, "=")
		for _, path := range []string{"/v1/crossings?", "/v1/refusals?"} {
			if name == "outcome" && path == "/v1/refusals?" {
				continue
			}
			p := w.get(path+query).isProblem(t, http.StatusBadRequest)
			if p.Parameter != name && name != "cursor" {
				t.Errorf("%s%s names %q", path, query, p.Parameter)
			}
		}
	}
	for _, query := range []string{"limit=0", "limit=1001", "cursor=x", "cursor="} {
		w.get("/v1/sessions?"+query).isProblem(t, http.StatusBadRequest)
	}
}

func TestCrossingsA6PageEqualTimestamps(t *testing.T) {
	w := newWorld(t, nil)
	var want []string
	var log strings.Builder
	for seq := 1; seq <= 50; seq++ {
		log.WriteString(crossingLine(seq, "b.test") + "\n")
		want = append(want, fmt.Sprintf("run1/%d", seq))
	}
	w.write("run1", log.String())
	slices.Reverse(want)
	got, calls := w.walk("/v1/crossings?session=run1&limit=7")
	if diff := cmp.Diff(want, got); diff != "" || calls != 8 {
		t.Errorf("%d calls, %s", calls, diff)
	}
}

func TestCrossingsA6FilteredPagesMoveOn(t *testing.T) {
	w := newWorld(t, nil)
	var log strings.Builder
	log.WriteString(crossingLine(1, "wanted.test") + "\n")
	for seq := 2; seq <= 10_000; seq++ {
		log.WriteString(crossingLine(seq, "b.test") + "\n")
	}
	w.write("run1", log.String())
	got, calls := w.walk("/v1/crossings?host=wanted.test")
	if !slices.Equal(got, []string{"run1/1"}) || calls > 2 {
		t.Errorf("found %q in %d calls", got, calls)
	}
	if got, calls := w.walk("/v1/crossings?host=nowhere.test"); got != nil || calls > 2 {
		t.Errorf("found %q in %d calls", got, calls)
	}
}

// A line that is just being written is neither a record nor damage.
func TestCrossingsE43ListWhileARecordIsWritten(t *testing.T) {
	w := newWorld(t, nil)
	whole, next := crossingLine(1, "b.test")+"\n", crossingLine(2, "b.test")+"\n"
	w.write("run1", whole+next[:50])
	var page list
	var info struct {
		Completeness struct {
			Damaged int
			Tear    *struct{ Offset, Bytes int }
		}
	}
	w.get("/v1/crossings?session=run1").into(t, &page)
	if !slices.Equal(page.ids(), []string{"run1/1"}) || page.Faulty != nil {
		t.Errorf("in the middle of a line: %+v", page)
	}
	w.get("/v1/sessions/run1").into(t, &info)
	if tear := info.Completeness.Tear; info.Completeness.Damaged != 0 || tear == nil || tear.Offset != len(whole) || tear.Bytes != 50 {
		t.Errorf("in the middle of a line: %+v", info)
	}
	w.write("run1", next[50:])
	w.get("/v1/crossings?session=run1").into(t, &page)
	if !slices.Equal(page.ids(), []string{"run1/2", "run1/1"}) {
		t.Errorf("when it is whole: %+v", page)
	}
}

func TestCrossingsE42NameSessionsThatAreDamaged(t *testing.T) {
	w := newWorld(t, nil)
	w.write("run1", crossingLine(1, "b.test")+"\nnonsense\n"+crossingLine(2, "b.test")+"\n")
	var page list
	w.get("/v1/crossings?host=b.test").into(t, &page)
	if len(page.Items) != 2 || !slices.Equal(page.Faulty, []string{"run1"}) {
		t.Errorf("the page is %+v", page)
	}
}

func TestCrossingA6ShowsAllOfIt(t *testing.T) {
	w := newWorld(t, nil)
	var got struct {
		Session, Crossing                       string
		Number                                  uint64
		Record, Opened, Undelivered, Unfinished json.RawMessage
		Terms                                   []termLink
		ReasonWords                             []reasonWords `json:"reason_words"`
		Told                                    struct {
			Status         int
			Reason, Detail string
		}
	}
	w.get(fmt.Sprintf("/v1/crossings/agent-1/%d", w.refused)).into(t, &got)
	if got.Session != "agent-1" || got.Number != w.refused || got.Crossing != fmt.Sprintf("agent-1/%d", w.refused) || got.Record == nil || got.Opened != nil {
		t.Errorf("the refusal is %+v", got)
	}
	want := []reasonWords{{"robots_disallow", "source", "The site's robots.txt does not allow this path"}}
	if diff := cmp.Diff(want, got.ReasonWords); diff != "" {
		t.Error(diff)
	}
	if got.Told.Status != 403 || got.Told.Reason != "robots_disallow" || got.Told.Detail != "Line 2 refuses." {
		t.Errorf("it was told %+v", got.Told)
	}
	if len(got.Terms) != 2 || got.Terms[0].Kind != "robots" || got.Terms[1].Kind != "policy" {
		t.Fatalf("the terms are %+v", got.Terms)
	}
	if a := w.get(got.Terms[0].Href); string(a.body) != robotsTxt {
		t.Errorf("the link leads to %q", a.body)
	}
	for _, seq := range []uint64{w.streamed, w.final} {
		w.get(fmt.Sprintf("/v1/crossings/agent-1/%d", seq)).into(t, &got)
		if got.Number != w.streamed || got.Record == nil || got.Opened == nil {
			t.Errorf("the streamed one is %+v", got)
		}
	}
	w.get("/v1/crossings/agent-1/1").isProblem(t, http.StatusNotFound) // edge_started
	w.get("/v1/crossings/absent/1").isProblem(t, http.StatusNotFound)
}

// A record of another version may name what this one has no words for.
func TestCrossingA6ShowsReasonsItDoesNotKnow(t *testing.T) {
	w := newWorld(t, nil)
	line := func(seq int, payload string) string {
		return fmt.Sprintf(`{"seq":%d,"timestamp":"2026-03-04T05:06:07.089Z","event":"crossing_refused","payload":{%s}}`+"\n", seq, payload)
	}
	w.write("run1", line(1, `"refusal":{"reason":"of_later"}`)+line(2, `"told":{"status":502,"reason":"dns_error"},"breach":[{"reason":"tunnel_not_listed"}]`))
	var got crossingView
	w.get("/v1/crossings/run1/1").into(t, &got)
	if len(got.ReasonWords) != 0 || !bytes.Contains(got.Record, []byte("of_later")) {
		t.Errorf("the crossing is %+v", got)
	}
	w.get("/v1/crossings/run1/2").into(t, &got)
	if len(got.ReasonWords) != 2 || got.ReasonWords[0].Whose != "upstream" || got.ReasonWords[1].Whose != "operator" {
		t.Errorf("the reasons are %+v", got.ReasonWords)
	}
}

func TestAnswersE23HoldNoSecret(t *testing.T) {
	w := newWorld(t, nil)
	for _, path := range []string{"/v1/crossings", "/v1/refusals", "/v1/sessions", "/v1/sessions/agent-1", "/v1/sessions/agent-1/log", fmt.Sprintf("/v1/crossings/agent-1/%d", w.refused), "/metrics", "/v1/status"} {
		if a := w.get(path); a.StatusCode != http.StatusOK || bytes.Contains(a.body, []byte("canary")) {
			t.Errorf("%s gives %d: %s", path, a.StatusCode, a.body)
		}
	}
}
