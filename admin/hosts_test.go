package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// wholeExplanation is one of which every member says something.
func wholeExplanation() Explanation {
	now := time.Now()
	return Explanation{
		Outcome: "refuse", Reason: "robots_disallow", Whose: "source", Status: 403, RetryAt: now, Detail: "d", Change: "c",
		Purposes: []string{"ai-input"}, Purpose: "ai-input", Terms: []Term{wholeTerm()}, Statements: []Statement{wholeStatement()},
		Licences: []Licence{wholeLicence()}, Effective: map[string]string{"ai-input": "disallow"}, Gaps: []Gap{{"tdm_unread", "d"}},
		Mode: "observe", Breaches: []Breach{{rulings.HostDenied, "d"}},
		Pacing: &Pacing{
			DelayMS: 5000, Capped: true, WaitMS: 10, NextAt: now, BackoffUntil: now, BackoffStatus: 503, ReservedUntil: now, Unavailable: "u",
		},
	}
}

func wholeTerm() Term {
	return Term{
		Kind: rulings.TermLicence, Mechanism: rulings.ByRobots, URL: "https://a.test/l", FinalURL: "https://a.test/m", Status: 200,
		Outcome: rulings.TermRead, Cause: "c", Cache: rulings.CacheHeld, FetchedAt: time.Now(), ExpiresAt: time.Now(),
		Object: "sha256:" + strings.Repeat("ab", 32), Line: 2, Entry: 1,
	}
}

func wholeStatement() Statement {
	return Statement{Source: "content_signal", Category: "ai-train", Preference: "disallow", Line: 3}
}

func wholeLicence() Licence {
	return Licence{URL: "https://a.test/l", Mechanism: "robots", Entry: 1, Offer: 1, Payment: "purchase 5 EUR", RefusedBy: "licence_payment"}
}

// wholeHost is a host of which every member says something.
func wholeHost(name string) Host {
	now := time.Now()
	return Host{
		HostItem: HostItem{Host: name, Class: rulings.Source, Pacing: HostPace{
			Turn:        &HostTurn{Reserved: now, Answered: now, DelayMS: 5000, Capped: true, NextAt: now, WaitMS: 1},
			Backoff:     &HostBackoff{Failures: 1, Status: 503, Until: now, WaitMS: 1, RetryAfter: true, Capped: true, Date: true, By: "agent-1"},
			Reservation: &HostReservation{Deadline: now, By: "agent-1"},
			Waiting:     &HostWaiting{Count: 1, Until: now, Cause: "backoff"},
			Recovered:   "r", Unavailable: "u",
		}},
		Origins: []HostOrigin{{
			Origin: "https://" + name, Terms: []Term{wholeTerm()},
			Robots: &HostRobots{
				Groups: []RobotsGroup{{Token: "wayleave", Group: "*", Rule: "Allow: /", Line: 2, Allowed: true}},
				Lines:  []RobotsLine{{Line: 3, Text: "Crawl-delay: 90"}}, More: true, DelayMS: 60000, Capped: true,
			},
			Statements: []Statement{wholeStatement()}, Licences: []Licence{wholeLicence()},
			Effective: map[string]string{"ai-input": "allow"}, Gaps: []Gap{{"tdm_unread", "d"}},
		}},
		Crossings: "/v1/crossings?host=" + name,
	}
}

// manyHosts are the hosts of a world.
var manyHosts = []string{"127.0.0.1", "::1", "a.test", "b.test", "paced.test"}

func listHosts(_ context.Context, q HostQuery) (items []HostItem, more bool, err error) {
	for _, name := range manyHosts {
		switch {
		case name <= q.After, q.Waiting && name != "paced.test":
		case len(items) == q.Limit:
			return items, true, nil
		default:
			items = append(items, wholeHost(name).HostItem)
		}
	}
	return items, false, nil
}

func tellHostOf(_ context.Context, host string) (Host, error) {
	switch {
	case host == "service.test":
		return Host{}, fmt.Errorf("asking: %w", ErrService)
	case host == "slow.test":
		return Host{}, context.DeadlineExceeded
	case !slices.Contains(manyHosts, host):
		return Host{}, ErrUnknownHost
	}
	return wholeHost(host), nil
}

// What the tests hold against the API's description leaves nothing of it out.
func TestOpenAPIA9TheTestsSetEveryMember(t *testing.T) {
	var unset func(at string, v reflect.Value)
	unset = func(at string, v reflect.Value) {
		if v.IsZero() {
			t.Errorf("%s is not set", at)
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			unset(at, v.Elem())
		case reflect.Slice:
			unset(at+"[0]", v.Index(0))
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				unset(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	unset("Explanation", reflect.ValueOf(wholeExplanation()))
	unset("Host", reflect.ValueOf(wholeHost("a.test")))
}

func TestHostsA9APageFollowsTheOther(t *testing.T) {
	w := newWorld(t, nil)
	var names []string
	path := "/v1/hosts?limit=2"
	for range manyHosts {
		var page struct {
			Items []struct{ Host string }
			Next  string
		}
		a := w.ask(http.MethodGet, path, "", nil)
		if err := json.Unmarshal(a.body, &page); err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v: %s", a.StatusCode, err, a.body)
		}
		for _, item := range page.Items {
			names = append(names, item.Host)
		}
		if page.Next == "" {
			break
		}
		path = "/v1/hosts?limit=2&cursor=" + page.Next
	}
	if diff := cmp.Diff(manyHosts, names); diff != "" {
		t.Error(diff)
	}
}

func TestHostsA9NoHostsAreAnEmptyList(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Hosts = func(context.Context, HostQuery) ([]HostItem, bool, error) { return nil, false, nil }
	})
	if a := w.ask(http.MethodGet, "/v1/hosts", "", nil); string(a.body) != `{"items":[]}`+"\n" {
		t.Errorf("%s", a.body)
	}
}

func TestHostsA9WaitingOnly(t *testing.T) {
	var got HostQuery
	w := newWorld(t, func(o *Options) {
		o.Hosts = func(_ context.Context, q HostQuery) ([]HostItem, bool, error) { got = q; return nil, false, nil }
	})
	w.ask(http.MethodGet, "/v1/hosts?waiting=true&cursor=a.test&limit=7", "", nil)
	if diff := cmp.Diff(HostQuery{After: "a.test", Limit: 7, Waiting: true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostsA3RefuseWhatIsNoQuestion(t *testing.T) {
	w := newWorld(t, nil)
	for path, parameter := range map[string]string{
		"/v1/hosts?host=a.test":        "host",
		"/v1/hosts?limit=0":            "limit",
		"/v1/hosts?limit=1001":         "limit",
		"/v1/hosts?cursor=":            "cursor",
		"/v1/hosts?cursor=A.test":      "cursor",
		"/v1/hosts?cursor=../x":        "cursor",
		"/v1/hosts?waiting=1":          "waiting",
		"/v1/hosts/paced.test?fetch=1": "fetch",
	} {
		if p := w.ask(http.MethodGet, path, "", nil).isProblem(t, http.StatusBadRequest); p.Parameter != parameter {
			t.Errorf("%s names %q, want %q", path, p.Parameter, parameter)
		}
	}
}

func TestHostA9IsNamedInAnySpelling(t *testing.T) {
	w := newWorld(t, nil)
	for spelling, key := range map[string]string{
		"paced.test": "paced.test", "PACED.test": "paced.test", "paced.test.": "paced.test", "0x7f.1": "127.0.0.1", "::1": "::1", "[::1]": "::1", "0:0::1": "::1",
	} {
		var found Host
		a := w.ask(http.MethodGet, "/v1/hosts/"+spelling, "", nil)
		if err := json.Unmarshal(a.body, &found); err != nil || found.Host != key || found.Crossings != "/v1/crossings?host="+key {
			t.Errorf("%s: %d %s", spelling, a.StatusCode, a.body)
		}
	}
	for _, none := range []string{"a..test", "1.2.3.4.5", "a:80", "xn--", "%70aced.test", "..", strings.Repeat("a", 300)} {
		w.ask(http.MethodGet, "/v1/hosts/"+none, "", nil).isProblem(t, http.StatusBadRequest)
		w.ask(http.MethodPost, "/v1/hosts/"+none+"/refresh", "", nil).isProblem(t, http.StatusBadRequest)
	}
	w.ask(http.MethodGet, "/v1/hosts/slow.test", "", nil).isProblem(t, http.StatusServiceUnavailable)
}

// A client that follows the link to the crossings is answered.
func TestHostA9ItsCrossingsAreListed(t *testing.T) {
	w := newWorld(t, nil)
	for _, host := range manyHosts {
		var found Host
		if err := json.Unmarshal(w.ask(http.MethodGet, "/v1/hosts/"+host, "", nil).body, &found); err != nil {
			t.Fatal(err)
		}
		if a := w.ask(http.MethodGet, found.Crossings, "", nil); a.StatusCode != http.StatusOK {
			t.Errorf("%s gives %d: %s", found.Crossings, a.StatusCode, a.body)
		}
	}
}

func TestHostsA5ADeskWithoutThemSaysSo(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Hosts, o.Host, o.Refresh = nil, nil, nil })
	w.ask(http.MethodGet, "/v1/hosts", "", nil).isProblem(t, http.StatusServiceUnavailable)
	w.ask(http.MethodGet, "/v1/hosts/a.test", "", nil).isProblem(t, http.StatusServiceUnavailable)
	w.ask(http.MethodPost, "/v1/hosts/a.test/refresh", "", nil).isProblem(t, http.StatusServiceUnavailable)
}

// Instants are written as records have them, and writing changes nothing.
func TestHostPaceE8Instants(t *testing.T) {
	at := time.Date(2026, 3, 4, 6, 6, 7, 89_123_456, time.FixedZone("", 3600))
	p := HostPace{
		Turn: &HostTurn{Reserved: at, Answered: at, NextAt: at}, Backoff: &HostBackoff{Until: at},
		Reservation: &HostReservation{Deadline: at}, Waiting: &HostWaiting{Until: at},
	}
	text, err := json.Marshal(p)
	if n := strings.Count(string(text), `"2026-03-04T05:06:07.089Z"`); err != nil || n != 6 {
		t.Errorf("%d of 6 instants in %s (%v)", n, text, err)
	}
	if p.Turn.Reserved != at || p.Backoff.Until != at || p.Reservation.Deadline != at || p.Waiting.Until != at {
		t.Error("writing it changed it")
	}
}
