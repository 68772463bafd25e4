package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// pacingAt is a pacing over a store in dir whose clock stands at noon, a little
// past the millisecond as clocks are.
func pacingAt(dir string) *proxy.Pacing {
	c := backoff.Config{}
	store := backoff.NewFileStore(dir, backoff.FileOptions{Config: c, Now: func() time.Time { return noon.Add(300 * time.Microsecond) }})
	return &proxy.Pacing{Dispatcher: backoff.NewDispatcher(store, c), Store: store, Rules: c.Rules()}
}

func in(d time.Duration) time.Time { return noon.Add(d) }

func TestA11ThePaceIsForecast(t *testing.T) {
	left := func(d time.Duration, failures int) backoff.Backoff {
		return backoff.Backoff{Failures: failures, Status: 503, Until: in(d)}
	}
	const fits, tooLong, five = 10 * time.Second, 10 * time.Minute, 5 * time.Second
	tests := map[string]struct {
		state  backoff.State
		delay  time.Duration
		want   admin.Pacing
		reason backoff.Reason // of a refusal; empty: none
	}{
		"P25 nothing binds":              {},
		"P6 a delay and no turn so far":  {delay: five, want: admin.Pacing{DelayMS: 5000}},
		"P8 a turn that is over":         {state: backoff.State{Turn: backoff.Turns{Reserved: in(-five)}}, delay: five, want: admin.Pacing{DelayMS: 5000}},
		"P8 a turn that is still to run": {state: backoff.State{Turn: backoff.Turns{Reserved: in(-2 * time.Second)}}, delay: five, want: admin.Pacing{DelayMS: 5000, WaitMS: 3000, NextAt: in(3 * time.Second)}},
		"P8 an answer later than the turn": {
			state: backoff.State{Turn: backoff.Turns{Reserved: in(-4 * time.Second), Answered: in(-time.Second)}}, delay: five,
			want: admin.Pacing{DelayMS: 5000, WaitMS: 4000, NextAt: in(4 * time.Second)},
		},
		"P9 a turn that does not fit": {
			state: backoff.State{Turn: backoff.Turns{Reserved: in(20 * time.Second)}}, delay: five,
			want: admin.Pacing{DelayMS: 5000, WaitMS: 25000, NextAt: in(25 * time.Second)}, reason: backoff.ReasonCrawlDelay,
		},
		"P25 a wait that fits":         {state: backoff.State{Backoff: left(fits, 1)}, want: admin.Pacing{WaitMS: 10000, NextAt: in(fits), BackoffUntil: in(fits), BackoffStatus: 503}},
		"P21 a wait without failures":  {state: backoff.State{Backoff: left(fits, 0)}, want: admin.Pacing{WaitMS: 10000, NextAt: in(fits), BackoffUntil: in(fits), BackoffStatus: 503}},
		"P29 a wait that does not fit": {state: backoff.State{Backoff: left(tooLong, 1)}, want: admin.Pacing{WaitMS: 600000, NextAt: in(tooLong), BackoffUntil: in(tooLong), BackoffStatus: 503}, reason: backoff.ReasonBackoff},
		"P24 the later of turn and wait": {
			state: backoff.State{Backoff: left(time.Second, 1), Turn: backoff.Turns{Reserved: in(-time.Second)}}, delay: five,
			want: admin.Pacing{DelayMS: 5000, WaitMS: 4000, NextAt: in(4 * time.Second), BackoffUntil: in(time.Second), BackoffStatus: 503},
		},
		"P31 a period that has ended is not cited": {state: backoff.State{Backoff: left(-time.Second, 2)}},
		"P25 another's reservation": {
			state: backoff.State{Backoff: left(-time.Second, 2), Reservation: backoff.Reservation{ID: "x", Deadline: in(fits)}},
			want:  admin.Pacing{WaitMS: 10000, NextAt: in(fits), ReservedUntil: in(fits)},
		},
		"P26 a reservation that has expired": {state: backoff.State{Backoff: left(-time.Minute, 2), Reservation: backoff.Reservation{ID: "x", Deadline: in(-time.Second)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.state.Host, tt.state.SetAt = "host.test", noon
			file := filepath.Join(dir, "host.test.json")
			if !tt.state.Empty() {
				mustDo(t, os.WriteFile(file, backoff.Encode(tt.state), 0o600))
			}
			before, _ := os.ReadFile(file)
			at, err := lookAtPace(t.Context(), pacingAt(dir), "host.test", backoff.Delay{Honoured: tt.delay})
			mustDo(t, err)
			if diff := cmp.Diff(&tt.want, at.forecast()); diff != "" {
				t.Error(diff)
			}
			switch e := at.refusal(); {
			case e == nil && tt.reason != "", e != nil && e.Reason != tt.reason:
				t.Errorf("refused for %v, want %q", e, tt.reason)
			case e != nil && (e.Wait.Milliseconds() != tt.want.WaitMS || !strings.Contains(e.Error(), "host.test may be asked in")):
				t.Errorf("%v", e)
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
				t.Error("to look changed the state")
			}
			if names, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(names) > 0 {
				t.Error("to look took a lock")
			}
		})
	}
}

func TestP39AStoreThatCannotBeReadIsPartOfTheForecast(t *testing.T) {
	dir := t.TempDir()
	mustDo(t, os.WriteFile(filepath.Join(dir, "host.test.json"), []byte("nonsense"), 0o600))
	at, err := lookAtPace(t.Context(), pacingAt(dir), "host.test", backoff.Delay{})
	mustDo(t, err)
	e := at.refusal()
	if f := at.forecast(); !strings.Contains(f.Unavailable, "cannot be read: repair access to it") || strings.Contains(f.Unavailable, dir) || f.WaitMS != 0 {
		t.Errorf("%+v", f)
	}
	if e == nil || e.Reason != backoff.ReasonPacingStore {
		t.Errorf("%v", e)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lookAtPace(ended, pacingAt(dir), "host.test", backoff.Delay{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// What the terms decided, and what the pace makes of it.
func TestA11ThePaceRefusesWhatTheTermsLetThrough(t *testing.T) {
	policy, faults := rulings.NewPolicy(rulings.PolicyFile{Services: []string{"service.test", "paced.test"}, ServiceTerms: []rulings.ServiceFile{{}, {Pace: true}}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	dir := t.TempDir()
	for _, host := range []string{"host.test", "service.test", "paced.test"} {
		s := backoff.State{Host: host, SetAt: noon, Backoff: backoff.Backoff{Failures: 1, Status: 429, Until: in(time.Hour)}}
		mustDo(t, os.WriteFile(filepath.Join(dir, host+".json"), backoff.Encode(s), 0o600))
	}
	x := explainer{policy: func() *rulings.Policy { return policy }, pacing: pacingAt(dir)}
	forecast := &admin.Pacing{WaitMS: 3600000, NextAt: in(time.Hour), BackoffUntil: in(time.Hour), BackoffStatus: 429}
	proceed := rulings.Ruling{Outcome: rulings.Proceed}
	byTerms := refusal(rulings.RobotsDisallow, "line 2")
	byPace := refusal(rulings.Backoff, "robots.txt was not asked for")
	told := byPace
	told.RetryAt = in(time.Hour)
	unreachable := refusal(rulings.RobotsUnreachable, "robots.txt was answered with status 503")
	unreachable.RetryAt = time.Now().Add(5 * time.Minute)
	putOff := unreachable
	putOff.RetryAt = in(time.Hour)
	refused := rulings.Ruling{
		Outcome: rulings.Refuse, Reason: rulings.Backoff, Stage: rulings.StageBefore, RetryAt: in(time.Hour),
		Detail: "backoff: host.test may be asked in 1h0m0s, and 20s are left to wait",
	}
	paced := refused
	paced.Detail = "backoff: paced.test may be asked in 1h0m0s, and 20s are left to wait"
	tests := map[string]struct {
		host   string
		ruling rulings.Ruling
		open   bool
		want   *admin.Pacing
		ruled  rulings.Ruling
	}{
		"let through":                    {"host.test", proceed, false, forecast, refused},
		"refused by the terms":           {"host.test", byTerms, false, nil, byTerms},
		"refused by the pace of a probe": {"host.test", byPace, false, forecast, told},
		"T17 unreachable, in back-off":   {"host.test", unreachable, false, nil, putOff},
		"T17 unreachable, and no more":   {"other.test", unreachable, false, nil, unreachable},
		"open for want of terms":         {"host.test", rulings.Ruling{}, true, forecast, rulings.Ruling{}},
		"P3 a service":                   {"service.test", proceed, false, nil, proceed},
		"P3 a service that is paced":     {"paced.test", proceed, false, forecast, paced},
		"a host that nothing binds":      {"other.test", proceed, false, &admin.Pacing{}, proceed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := rulings.Request{Method: http.MethodGet, Origin: hostkey.Origin{Scheme: "https", Host: tt.host, Port: 443}, Target: "/"}
			got, err := x.paceRuled(t.Context(), x.policy(), req, rulings.Terms{}, &tt.ruling, tt.open)
			mustDo(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if r := tt.ruling; r.Outcome != tt.ruled.Outcome || r.Reason != tt.ruled.Reason || r.Detail != tt.ruled.Detail || !r.RetryAt.Equal(tt.ruled.RetryAt) {
				t.Errorf("the ruling is %+v, want %+v", r, tt.ruled)
			}
		})
	}
	x.policy = func() *rulings.Policy { return nil }
	if got, err := x.paceRuled(t.Context(), x.policy(), rulings.Request{}, rulings.Terms{}, &byTerms, false); got != nil || err != nil {
		t.Errorf("without a policy nothing is sent, but %+v, %v", got, err)
	}
}

func TestA11ThePaceInWords(t *testing.T) {
	tests := map[string]struct {
		p    *admin.Pacing
		want string
	}{
		"not paced":       {nil, ""},
		"nothing binds":   {&admin.Pacing{}, ""},
		"a delay":         {&admin.Pacing{DelayMS: 1500}, "pace: the host asks for 1.5s between two requests\npace: a request that came now could go at once\n"},
		"more than kept":  {&admin.Pacing{DelayMS: 60000, Capped: true, WaitMS: 2500, NextAt: in(2500 * time.Millisecond)}, "pace: the host asks for more than the 1m0s between two requests that are kept\npace: a request that came now could go in 2.5s, at 2026-03-04T12:00:02Z\n"},
		"a failure":       {&admin.Pacing{WaitMS: 60000, NextAt: in(time.Minute), BackoffUntil: in(time.Minute), BackoffStatus: 429}, "pace: the host answered with status 429 and is left alone until 2026-03-04T12:01:00Z\npace: a request that came now could go in 1m0s, at 2026-03-04T12:01:00Z\n"},
		"another's turn":  {&admin.Pacing{WaitMS: 1000, NextAt: in(time.Second), ReservedUntil: in(time.Second)}, "pace: the host failed; another request to it is under way and waited for, until 2026-03-04T12:00:01Z at the latest\npace: a request that came now could go in 1s, at 2026-03-04T12:00:01Z\n"},
		"a store's fault": {&admin.Pacing{Unavailable: "the state cannot be read: repair it"}, "pace: not known: the state cannot be read: repair it\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff("proceed\n"+tt.want, inWords(admin.Explanation{Outcome: "proceed", Pacing: tt.p})); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, r := range []rulings.Reason{rulings.CrawlDelay, rulings.Backoff, rulings.PacingStore} {
		if wouldChange(rulings.Ruling{Reason: r}) == "" {
			t.Errorf("nothing is said of what would change %s", r)
		}
	}
}

// ask and the admin API say the same of a host that is left alone, and neither
// asks it.
func TestA11AskSaysWhenAHostMayBeAsked(t *testing.T) {
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: 7\n", "/failing": "503"})
	if status, err := w.cross(t.Context(), w.site.URL+"/failing"); err != nil || status != http.StatusServiceUnavailable {
		t.Fatalf("status %d, %v", status, err)
	}
	w.bookHas(w.host)
	w.counts()
	var api admin.Explanation
	w.ask(http.MethodPost, "/v1/explain", `{"url":"`+w.site.URL+`/page"}`, &api)
	file := w.edge.cfg.file
	w.down()
	var out, words, errs bytes.Buffer
	none := func(string) string { return "" }
	if code := run(t.Context(), []string{"ask", "--json", "--exit-code", "--config", file, w.site.URL + "/page"}, none, nil, &out, &errs); code != exitNotSo {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	var cli admin.Explanation
	mustDo(t, json.Unmarshal(out.Bytes(), &cli))
	for name, e := range map[string]admin.Explanation{"the admin API": api, "ask": cli} {
		p := e.Pacing
		if e.Outcome != "refuse" || e.Reason != "backoff" || e.Whose != "source" || e.Status != 429 || len(e.Terms) != 1 {
			t.Errorf("%s says %+v", name, e)
		}
		if p == nil || p.DelayMS != 7000 || p.BackoffStatus != 503 || p.WaitMS < 500_000 || !p.NextAt.Equal(p.BackoffUntil) || !e.RetryAt.Equal(p.NextAt) {
			t.Errorf("%s forecasts %+v, and %v", name, p, e.RetryAt)
		}
	}
	if !api.Pacing.BackoffUntil.Equal(cli.Pacing.BackoffUntil) {
		t.Errorf("the API says %v, ask %v", api.Pacing.BackoffUntil, cli.Pacing.BackoffUntil)
	}
	run(t.Context(), []string{"ask", "--config", file, w.site.URL + "/page"}, none, nil, &words, &errs)
	if !strings.HasPrefix(words.String(), "refuse backoff (source, 429)\n") || !strings.Contains(words.String(), "\npace: the host answered with status 503 and is left alone until ") {
		t.Error(words.String())
	}
	if counts := w.counts(); len(counts) > 0 {
		t.Errorf("the host was asked for %v", counts)
	}
}
