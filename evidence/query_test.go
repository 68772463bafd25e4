package evidence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// walkPages asks for page after page and calls between, when it is not nil,
// after each. It returns "<session>/<seq>" of the items in order, and how many
// calls it took.
func walkPages(t *testing.T, x *Index, q Query, between func()) (ids []string, calls int) {
	t.Helper()
	var l logLine
	for {
		page, err := x.Crossings(q)
		if err != nil {
			t.Fatal(err)
		}
		calls++
		for _, item := range page.Items {
			if fault := l.read(item.Record); fault != "" {
				t.Fatalf("an item is no record: %s", fault)
			}
			ids = append(ids, fmt.Sprintf("%s/%d", item.Session, l.seq))
		}
		if len(page.Items) > max(q.Limit, 1) && q.Limit != 0 {
			t.Fatalf("%d items on a page of %d", len(page.Items), q.Limit)
		}
		if page.Next == "" {
			return ids, calls
		}
		if q.Cursor = page.Next; between != nil {
			between()
		}
	}
}

func TestCrossingsA6PagesEqualTimestampsOnce(t *testing.T) {
	d := newLogDir(t)
	var want []string
	for seq := range uint64(50) {
		d.append("s", 1, lines(crossingLine(seq+1, 0, "http://a.test/")))
		want = append([]string{fmt.Sprintf("s/%d", seq+1)}, want...)
	}
	got, calls := walkPages(t, d.index(), Query{Limit: 7}, nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if calls != 8 {
		t.Errorf("it took %d calls", calls)
	}
}

func TestCrossingsA6FilteredPagesMoveOn(t *testing.T) {
	d := newLogDir(t)
	var b strings.Builder
	b.WriteString(lines(crossingLine(1, 0, "http://wanted.test/")))
	for seq := range uint64(9999) {
		b.WriteString(lines(crossingLine(seq+2, int64(seq), "http://a.test/")))
	}
	d.append("s", 1, b.String())
	got, calls := walkPages(t, d.index(), Query{Host: "wanted.test", Limit: 1}, nil)
	if !slices.Equal(got, []string{"s/1"}) || calls > 2 {
		t.Errorf("found %q in %d calls", got, calls)
	}
}

// erraticLogs are logs whose clocks jump, one of them in several segments.
type erraticLogs struct {
	logDir
	rng   *rand.Rand
	seq   map[string]uint64
	clock map[string]int64
}

// write appends n records to any of the logs and returns their ids.
func (e *erraticLogs) write(n int) (ids []string) {
	for range n {
		s := fmt.Sprintf("s%d", e.rng.IntN(4))
		e.clock[s] += e.rng.Int64N(50) - 20
		e.seq[s]++
		segment := 1
		if s == "s0" {
			segment += int(e.seq[s] / 20)
		}
		filler := 100
		if s == "s1" {
			filler = 20 << 10 // so that this log has several blocks
		}
		line := crossingLine(e.seq[s], e.clock[s], "http://a.test/"+strings.Repeat("x", e.rng.IntN(filler)))
		if e.rng.IntN(10) == 0 {
			line = recordLine(e.seq[s], e.clock[s], EventTermsProbed, "")
		} else {
			ids = append(ids, fmt.Sprintf("%s/%d", s, e.seq[s]))
		}
		e.append(s, segment, lines(line))
	}
	return ids
}

func TestCrossingsA6LoseAndRepeatNothingWhileRecordsArrive(t *testing.T) {
	for seed := range uint64(5) {
		e := &erraticLogs{newLogDir(t), rand.New(rand.NewPCG(seed, 1)), map[string]uint64{}, map[string]int64{}}
		before := e.write(200)
		x := e.index()
		var during []string
		got, _ := walkPages(t, x, Query{Limit: 9}, func() { during = append(during, e.write(3)...) })
		seen := make(map[string]bool)
		for _, id := range got {
			if seen[id] {
				t.Errorf("seed %d: %s is repeated", seed, id)
			}
			seen[id] = true
		}
		for _, id := range before {
			if !seen[id] {
				t.Errorf("seed %d: %s is lost", seed, id)
			}
		}
		// The order of what was there is the same in a walk of its own.
		again, _ := walkPages(t, x, Query{Limit: MaxLimit}, nil)
		if len(again) != len(before)+len(during) {
			t.Errorf("seed %d: %d crossings of %d", seed, len(again), len(before)+len(during))
		}
		again = slices.DeleteFunc(again, func(id string) bool { return !seen[id] })
		if diff := cmp.Diff(again, got); diff != "" {
			t.Errorf("seed %d: the order changed: %s", seed, diff)
		}
		fresh, _ := walkPages(t, e.index(), Query{Limit: 11}, nil)
		whole, _ := walkPages(t, x, Query{}, nil)
		if diff := cmp.Diff(whole, fresh); diff != "" {
			t.Errorf("seed %d: an index built anew differs: %s", seed, diff)
		}
	}
}

// A last line without its end is listed once, before and after it is settled.
func TestCrossingsE43ListsAWholeLastLine(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	d.append("s", 1, lines(crossingLine(1, 0, "http://a.test/"))+crossingLine(2, 0, "http://a.test/"))
	for range 2 {
		if got, _ := walkPages(t, x, Query{Limit: 1}, nil); !slices.Equal(got, []string{"s/2", "s/1"}) {
			t.Errorf("listed %q", got)
		}
	}
	d.append("s", 1, "\n"+lines(tornLine(3, 0, len(crossingLine(2, 0, "http://a.test/"))), crossingLine(4, 0, "http://a.test/")))
	if got, _ := walkPages(t, x, Query{Limit: 1}, nil); !slices.Equal(got, []string{"s/4", "s/2", "s/1"}) {
		t.Errorf("listed %q", got)
	}
}

func TestCrossingsEndAPageForItsSize(t *testing.T) {
	d := newLogDir(t)
	var want []string
	for seq := range uint64(12) {
		d.append("s", 1, lines(crossingLine(seq+1, 0, "http://a.test/"+strings.Repeat("x", 900<<10))))
		want = append([]string{fmt.Sprintf("s/%d", seq+1)}, want...)
	}
	x := d.index()
	page, err := x.Crossings(Query{})
	if err != nil || len(page.Items) == 0 || len(page.Items) > pageBytes/(900<<10) || page.Next == "" {
		t.Errorf("%d items, next %q, error %v", len(page.Items), page.Next, err)
	}
	if got, _ := walkPages(t, x, Query{}, nil); !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
}

const refusedPayload = `,"grade":"mediated","class":"source","outcome":"refused","url":"https://B\u00dccher.example:8443/x?q=1","refusal":{"reason":"robots_disallow","whose":"source","stage":"before","detail":"d","term":{"object":"sha256:` +
	`1111111111111111111111111111111111111111111111111111111111111111","line":3}},"told":{"status":403,"reason":"robots_disallow","detail":"d"}`

// filterLog has a crossing of each kind that a filter can ask for.
func filterLog(t *testing.T) *Index {
	d := newLogDir(t)
	two := strings.Repeat("2", 64)
	d.append("s", 1, lines(
		recordLine(1, 0, EventEdgeStarted, ""),
		recordLine(2, 1000, EventCrossingRefused, refusedPayload),
		recordLine(3, 2000, EventCrossingMediated, `,"grade":"mediated","class":"source","outcome":"unavailable","url":"http://u@down.test/","failure":{"kind":"dns"},"told":{"status":502,"reason":"dns_error","detail":"d"},"gaps":[{"reason":"dependency_unavailable","detail":"d"}]`),
		recordLine(4, 3000, EventCrossingOpened, `,"grade":"mediated","class":"service","url":"http://[::1]:80/"`),
		recordLine(5, 4000, EventCrossingMediated, `,"grade":"mediated","class":"service","outcome":"delivered","opened":4,"url":"http://[::1]:80/","http_status":403,"breach":[{"reason":"tunnel_not_listed","detail":"d"}]`),
		recordLine(6, 5000, EventCrossingObserved, `,"grade":"observed","class":"service","outcome":"delivered","authority":"tunnel.test:443","gaps":[{"reason":"capability_unavailable","detail":"d"}]`),
		recordLine(7, 6000, EventCrossingMediated, `,"grade":"mediated","class":"source","outcome":"delivered","url":"http://a.test/b","http_status":200,"declarations":{"terms":[{"kind":"robots","object":"sha256:`+two+`"}]}`),
	))
	d.append("other", 1, lines(crossingLine(1, 6000, "http://a.test/a")))
	return d.index()
}

func TestCrossingsA6Filters(t *testing.T) {
	x := filterLog(t)
	digest := func(b byte) (out rulings.Digest) {
		for i := range out {
			out[i] = b
		}
		return out
	}
	at := func(second int64) time.Time { return time.UnixMilli(day + second*1000) }
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"all, newest first", Query{}, []string{"s/7", "other/1", "s/6", "s/5", "s/3", "s/2"}},
		{"by session", Query{Session: "other"}, []string{"other/1"}},
		{"by a session that is not there", Query{Session: "absent"}, nil},
		{"by host", Query{Host: "a.test"}, []string{"s/7", "other/1"}},
		{"by host in another spelling", Query{Host: "bücher.EXAMPLE."}, []string{"s/2"}},
		{"by address", Query{Host: "[0:0::1]"}, []string{"s/5"}},
		{"by host of a tunnel", Query{Host: "tunnel.test"}, []string{"s/6"}},
		{"by host behind userinfo", Query{Host: "down.test"}, []string{"s/3"}},
		{"by beginning of the URL", Query{URLPrefix: "http://a.test/b"}, []string{"s/7"}},
		{"by reason of a refusal", Query{Reason: rulings.RobotsDisallow}, []string{"s/2"}},
		{"by reason the agent was told", Query{Reason: rulings.DNSError}, []string{"s/3"}},
		{"by reason of a breach", Query{Reason: rulings.TunnelNotListed}, []string{"s/5"}},
		{"by whose term it was", Query{Whose: rulings.WhoseSource}, []string{"s/2"}},
		{"by whose, of what the agent was told", Query{Whose: rulings.WhoseUpstream}, []string{"s/3"}},
		{"by whose, of a breach", Query{Whose: rulings.WhoseOperator}, []string{"s/5"}},
		{"by a reason and whose that do not meet", Query{Reason: rulings.RobotsDisallow, Whose: rulings.WhoseOperator}, nil},
		{"by the term that refused", Query{Term: digest(0x11)}, []string{"s/2"}},
		{"by a term that was read", Query{Term: digest(0x22)}, []string{"s/7"}},
		{"by the status of an origin", Query{Status: 200}, []string{"s/7", "other/1"}},
		{"by the status the agent read, whoever gave it", Query{Status: 403}, []string{"s/5", "s/2"}},
		{"by class", Query{Class: rulings.Service}, []string{"s/6", "s/5"}},
		{"by outcome", Query{Outcome: Unavailable}, []string{"s/3"}},
		{"by outcome refused", Query{Outcome: Refused}, []string{"s/2"}},
		{"refused ones", Query{Refused: true}, []string{"s/2"}},
		{"with a gap", Query{Gap: Yes}, []string{"s/6", "s/3"}},
		{"without a gap", Query{Gap: No}, []string{"s/7", "other/1", "s/5", "s/2"}},
		{"with a breach", Query{Breach: Yes}, []string{"s/5"}},
		{"from an instant on", Query{From: at(5)}, []string{"s/7", "other/1", "s/6"}},
		{"before an instant", Query{To: at(5)}, []string{"s/5", "s/3", "s/2"}},
		{"in a window", Query{From: at(2), To: at(5)}, []string{"s/5", "s/3"}},
		{"by several", Query{Class: rulings.Service, Gap: Yes, Session: "s"}, []string{"s/6"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, limit := range []int{0, 1} {
				tt.q.Limit = limit
				got, _ := walkPages(t, x, tt.q, nil)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("limit %d: %s", limit, diff)
				}
			}
		})
	}
}

func TestCrossingsA6RefuseWhatIsNoQuery(t *testing.T) {
	x := filterLog(t)
	page, err := x.Crossings(Query{Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("next %q, error %v", page.Next, err)
	}
	tests := []struct {
		name string
		q    Query
	}{
		{"a negative limit", Query{Limit: -1}},
		{"a limit over the bound", Query{Limit: MaxLimit + 1}},
		{"a cursor that is none", Query{Cursor: "x"}},
		{"a cursor that was changed", Query{Cursor: page.Next + "A"}},
		{"a cursor of another session", Query{Cursor: rank{at: 1, session: "../s"}.String()}},
		{"a cursor before the first octet", Query{Cursor: rank{at: 1, session: "s", off: -1}.String()}},
		{"a session that cannot be", Query{Session: "../s"}},
		{"a host that cannot be", Query{Host: "a b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := x.Crossings(tt.q); !errors.Is(err, ErrQuery) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func FuzzCursorA6(f *testing.F) {
	seeds := []rank{{}, {at: 1, session: "s", segment: 2, off: 3}, {at: -5, session: strings.Repeat("a", 128), segment: 1 << 30, off: 1 << 60}}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s.String())
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		r, err := parseRank(cursor)
		if err != nil {
			if !errors.Is(err, ErrQuery) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if r.String() != cursor || r.off < 0 || r.segment < 0 || !ValidSession(r.session) {
			t.Fatalf("took %q as %+v", cursor, r)
		}
	})
}

func TestItemA6IsTheRecordWithItsSession(t *testing.T) {
	item := Item{Session: "s-1", Record: []byte(`{"seq":1,"payload":{"a":"<&>"}}`)}
	if got, want := string(item.AppendJSON(nil)), `{"seq":1,"payload":{"a":"<&>"},"session":"s-1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
