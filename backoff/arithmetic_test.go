package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

var rules = backoff.Config{}.Rules()

// A host's history in the words of the worked examples: seconds from the start.
type history struct {
	backoff.State
}

func (h history) at(s float64) time.Time { return after(time.Duration(s * float64(time.Second))) }

// fail is an answer that fails; ra is a Retry-After, empty for none.
func (h history) fail(s float64, status int, ra string) history { return h.answer(s, status, ra, "") }

func (h history) answer(s float64, status int, ra, who string) history {
	a := backoff.Answer{Status: status, Reservation: who}
	if ra != "" {
		a.RetryAfter = []string{ra}
	}
	next, _ := rules.Answered(h.State, h.at(s), a)
	return history{next}
}

func (h history) reserve(t *testing.T, s float64, who string) history {
	t.Helper()
	next, _, ok := rules.Reserve(h.State, h.at(s), h.State, backoff.Sender{ID: who}, 30*time.Second)
	if !ok {
		t.Errorf("%s cannot reserve at %v", who, s)
	}
	return history{next}
}

func (h history) release(s float64, who string) history {
	return history{rules.Release(h.State, h.at(s), who)}
}

// String is what the column "after" of the worked examples says.
func (h history) String() string {
	if h.Empty() {
		return "no state"
	}
	sec := func(t time.Time) float64 { return t.Sub(backofftest.Start).Seconds() }
	s := fmt.Sprintf("failures %d, until %v, status %d", h.Backoff.Failures, sec(h.Backoff.Until), h.Backoff.Status)
	if h.Reservation.ID != "" {
		s += fmt.Sprintf(", %s to %v", h.Reservation.ID, sec(h.Reservation.Deadline))
	}
	return s
}

func TestP20_WorkedExamples(t *testing.T) {
	var none history
	a, until := none, 0.0
	var intervals []float64
	for range 9 {
		a = a.fail(until, 502, "")
		end := a.Backoff.Until.Sub(backofftest.Start).Seconds()
		intervals, until = append(intervals, end-until), end
	}
	if diff := cmp.Diff([]float64{10, 20, 40, 80, 160, 320, 640, 900, 900}, intervals); diff != "" {
		t.Errorf("a: intervals (-want +got):\n%s", diff)
	}
	b := a.answer(until, 404, "", "")
	c := none.fail(0, 503, "").fail(4, 500, "")
	d := c.fail(6, 503, "30")
	e := d.fail(36, 500, "")
	f := e.answer(40, 200, "", "")
	g := f.fail(41, 500, "")
	i := none.fail(0, 503, "60").reserve(t, 60, "A")
	for _, tt := range []struct {
		name string
		got  history
		want string
	}{
		{"b: nine failures, then 404 at the end", b, "no state"},
		{"b: the next 429 waits 10", b.fail(until, 429, ""), fmt.Sprintf("failures 1, until %v, status 429", until+10)},
		{"c: a failure inside the period", c, "failures 1, until 14, status 500"},
		{"d: a later end inside the period", d, "failures 1, until 36, status 503"},
		{"e: a failure at the end", e, "failures 2, until 56, status 500"},
		{"f: a success inside the period", f, "failures 0, until 56, status 500"},
		{"g: a failure after the success", g, "failures 1, until 56, status 500"},
		{"h: success and failure at the same instant", none.fail(0, 429, "3600").answer(0, 200, "", "").fail(0, 500, ""), "failures 1, until 3600, status 429"},
		{"i: A reserves", i, "failures 1, until 60, status 503, A to 90"},
		{"j: A answers well", i.answer(61, 200, "", "A"), "no state"},
		{"k: A fails", i.answer(61, 503, "", "A"), "failures 2, until 81, status 503"},
		{"l: B fails", i.answer(61, 503, "600", "B"), "failures 2, until 661, status 503, A to 90"},
		{"m: B answers well", i.answer(61, 200, "", "B"), "failures 0, until 60, status 503, A to 90"},
		{"m: and then A", i.answer(61, 200, "", "B").answer(62, 200, "", "A"), "no state"},
		{"m: or A ends without an answer", i.answer(61, 200, "", "B").release(62, "A"), "no state"},
		{"n: A ends without an answer", i.release(62, "A"), "failures 1, until 60, status 503"},
		{"n: told as an answer of status 0", i.answer(62, 0, "", "A"), "failures 1, until 60, status 503"},
		{"o: A dies, B reserves at its deadline", i.reserve(t, 90, "B"), "failures 1, until 60, status 503, B to 120"},
		{"p: Retry-After 0", none.fail(0, 429, "0"), "failures 1, until 0, status 429"},
		{"p: a date in the past", none.fail(0, 429, "Mon, 30 Nov 2026 11:00:00 GMT"), "failures 1, until 0, status 429"},
		{"B10: Retry-After 0 again, by the sender that reserved", none.fail(0, 429, "0").reserve(t, 0, "A").answer(1, 503, "0", "A"), "failures 2, until 1, status 503"},
		{"an equal end inside the period keeps the older status", none.fail(0, 503, "30").fail(10, 429, "20"), "failures 1, until 30, status 503"},
		{"1xx is no answer", i.answer(61, 103, "", "A"), "failures 1, until 60, status 503, A to 90"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.got.String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestP20_TheLaterEndKeepsHowItCameAbout(t *testing.T) {
	answer := func(s backoff.State, ms int, status int, tenant, ra string) backoff.State {
		next, _ := rules.Answered(s, after(time.Duration(ms)*time.Millisecond), backoff.Answer{Status: status, RetryAfter: []string{ra}, Tenant: tenant})
		return next
	}
	s := answer(backoff.State{Host: host}, 0, 429, "a", "7200")
	s = answer(s, 10, 503, "b", "Mon, 30 Nov 2026 12:30:00 GMT")
	if want := (backoff.Backoff{Failures: 1, Status: 429, Until: after(time.Hour), RetryAfter: true, Capped: true, By: "a"}); s.Backoff != want {
		t.Errorf("%+v, want %+v", s.Backoff, want)
	}
	s = answer(backoff.State{Host: host}, 0, 500, "a", "")
	s = answer(s, 10, 503, "b", "Mon, 30 Nov 2026 12:30:00 GMT")
	if want := (backoff.Backoff{Failures: 1, Status: 503, Until: after(30 * time.Minute), RetryAfter: true, Date: true, By: "b"}); s.Backoff != want {
		t.Errorf("%+v, want %+v", s.Backoff, want)
	}
}

func TestP19_TheChangeSaysHowTheFieldWasRead(t *testing.T) {
	_, c := rules.Answered(backoff.State{Host: host}, after(0), backoff.Answer{Status: 429, RetryAfter: []string{"7200"}})
	if want := (backoff.RetryAfter{Usable: true, End: after(time.Hour), Capped: true}); c.Stated != want || c.Event != backoff.EventSet {
		t.Errorf("%+v, want %+v", c, want)
	}
	if _, c = rules.Answered(c.State, after(time.Second), backoff.Answer{Status: 502, RetryAfter: []string{"7200"}}); c.Stated.Usable {
		t.Errorf("P17: the field counts with 502: %+v", c)
	}
}

func TestP10_InstantsAreRoundedUpAndMoveForwardOnly(t *testing.T) {
	ns := func(n int) time.Time { return after(time.Duration(n)) }
	s, turn := rules.Turn(backoff.State{Host: host}, ns(1), time.Second, 0)
	if !turn.At.Equal(after(time.Millisecond)) || turn.Wait != 0 {
		t.Errorf("a turn now: %+v", turn)
	}
	s, _ = rules.Answered(s, ns(5_000_001), backoff.Answer{Status: 200, Paced: true})
	if want := after(6 * time.Millisecond); !s.Turn.Answered.Equal(want) || !s.SetAt.Equal(want) {
		t.Errorf("dated %+v", s)
	}
	if again, _ := rules.Answered(s, ns(2_000_000), backoff.Answer{Status: 0, Paced: true}); !again.Equal(s) {
		t.Errorf("an earlier answer moved %+v to %+v", s.Turn, again.Turn)
	}
}

func TestP25_Next(t *testing.T) {
	wait := backoff.Backoff{Failures: 1, Status: 503, Until: after(5 * time.Second), Date: true, By: "t"}
	over, reset := wait, wait
	over.Until, reset.Until, reset.Failures = after(0), after(0), 0
	res := backoff.Reservation{ID: "A", Deadline: after(30 * time.Second), By: "u"}
	for _, tt := range []struct {
		name   string
		state  backoff.State
		id     string
		budget time.Duration
		want   backoff.Next
	}{
		{"nothing known: go", backoff.State{}, "", 0, backoff.Next{Step: backoff.StepGo}},
		{"a wait that fits", backoff.State{Backoff: wait}, "", 5 * time.Second, backoff.Next{Step: backoff.StepWait, Wait: 5 * time.Second, Status: 503, Date: true, By: "t"}},
		{"a wait that does not", backoff.State{Backoff: wait}, "", 4999 * time.Millisecond, backoff.Next{Step: backoff.StepRefuse, Wait: 5 * time.Second, Status: 503, Date: true, By: "t"}},
		{"a wait binds before a reservation (example l)", backoff.State{Backoff: wait, Reservation: res}, "A", 5 * time.Second, backoff.Next{Step: backoff.StepWait, Wait: 5 * time.Second, Status: 503, Date: true, By: "t"}},
		{"over: reserve", backoff.State{Backoff: over}, "B", 0, backoff.Next{Step: backoff.StepReserve}},
		{"another's reservation, told without the failure (P31)", backoff.State{Backoff: over, Reservation: res}, "B", 1, backoff.Next{Step: backoff.StepHeld, Wait: 30 * time.Second, Held: true, By: "u"}},
		{"another's reservation without budget (P29)", backoff.State{Backoff: over, Reservation: res}, "B", 0, backoff.Next{Step: backoff.StepRefuse, Wait: 30 * time.Second, Held: true, By: "u"}},
		{"its own reservation: go", backoff.State{Backoff: over, Reservation: res}, "A", 0, backoff.Next{Step: backoff.StepGo}},
		{"another's reservation after a success (example m)", backoff.State{Backoff: reset, Reservation: res}, "B", 1, backoff.Next{Step: backoff.StepHeld, Wait: 30 * time.Second, Held: true, By: "u"}},
		{"count 0 and over: go", backoff.State{Backoff: reset}, "B", 0, backoff.Next{Step: backoff.StepGo}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.state.Next(after(0), tt.id, tt.budget)); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestP14_Fit(t *testing.T) {
	s := backoff.State{Host: host, SetAt: after(0), Turn: backoff.Turns{Reserved: after(0)}}
	sec := time.Second
	for _, tt := range []struct {
		name          string
		delay, budget time.Duration
		licences      int
		want          backoff.Fit
	}{
		{"all fit", 5 * sec, 20 * sec, 3, backoff.Fit{Outcome: backoff.Fits, Pending: 5 * sec, Need: 20 * sec, Reads: 3}},
		{"need is a little over", 5 * sec, 19999 * time.Millisecond, 3, backoff.Fit{Outcome: backoff.LicenceFirst, Pending: 5 * sec, Need: 20 * sec}},
		{"licences alone, some of them", 8 * sec, 20 * sec, 3, backoff.Fit{Outcome: backoff.LicencesAlone, Pending: 8 * sec, Need: 32 * sec, Reads: 2}},
		{"licences alone, none fits yet", 30 * sec, 20 * sec, 1, backoff.Fit{Outcome: backoff.LicencesAlone, Pending: 30 * sec, Need: 60 * sec}},
		{"no delay", 0, 0, 2, backoff.Fit{Outcome: backoff.Fits, Reads: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rules.Fit(s, after(0), tt.delay, tt.licences, tt.budget); got != tt.want {
				t.Errorf("Fit = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestP7_Honour(t *testing.T) {
	for ms, want := range map[int64]backoff.Delay{
		0: {}, 250: {Honoured: 250 * time.Millisecond}, 60_000: {Honoured: time.Minute}, 60_001: {Honoured: time.Minute, Capped: true},
		86_400_000: {Honoured: time.Minute, Capped: true}, 1 << 62: {Honoured: time.Minute, Capped: true}, -1: {},
	} {
		want.Written = "w"
		if got := rules.Honour(ms, "w"); got != want {
			t.Errorf("%d ms: %+v, want %+v", ms, got, want)
		}
	}
}

func TestP28_Defaults(t *testing.T) {
	want := backoff.Config{MaxWait: 20 * time.Second, MaxDelay: time.Minute, HeadTimeout: 30 * time.Second, LockWait: 2 * time.Second, MaxWaiters: 1000}
	if diff := cmp.Diff(want, backoff.Config{}.WithDefaults()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got := (backoff.Config{MaxWait: -1, MaxDelay: -1}).WithDefaults(); got.MaxWait != 0 || got.MaxDelay != time.Minute {
		t.Errorf("less than nothing: %+v", got)
	}
}
