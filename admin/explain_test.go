package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

func TestExplainA11PassesTheQuestionOn(t *testing.T) {
	var got ExplainRequest
	w := newWorld(t, func(o *Options) {
		o.Explain = func(_ context.Context, r ExplainRequest) (Explanation, error) {
			got = r
			return Explanation{Outcome: "proceed"}, nil
		}
	})
	a := w.ask(http.MethodPost, "/v1/explain", `{"url":"https://a.test/x?y","method":"HEAD","session":"agent-1","purposes":["ai-train"],
		"headers":{"user-agent":"bot/1","Accept":["a","b"]},"fetch":true}`, nil)
	want := ExplainRequest{
		URL: "https://a.test/x?y", Method: "HEAD", Session: "agent-1", Purposes: []string{"ai-train"},
		Headers: http.Header{"User-Agent": {"bot/1"}, "Accept": {"a", "b"}}, Fetch: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || string(a.body) != `{"outcome":"proceed"}`+"\n" {
		t.Errorf("the answer is %s, %s", a.body, diff)
	}
	w.ask(http.MethodPost, "/v1/explain", `{"url":"http://a.test"}`, nil)
	if got.Method != http.MethodGet || got.Fetch {
		t.Errorf("the plain question is %+v", got)
	}
}

func TestExplainA11RefusesQuestionsThatAreNone(t *testing.T) {
	w := newWorld(t, nil)
	tests := []struct{ name, body, parameter string }{
		{"no URL", `{}`, "url"},
		{"a path", `{"url":"/x"}`, "url"},
		{"another scheme", `{"url":"file:///etc/passwd"}`, "url"},
		{"no host", `{"url":"http:///x"}`, "url"},
		{"a malformed URL", `{"url":"http://a.test/%zz"}`, "url"},
		{"a URL past any bound", `{"url":"http://a.test/` + strings.Repeat("x", 64<<10) + `"}`, "url"},
		{"a URL that cannot be ruled", `{"url":"http://unruly.test/"}`, "url"},
		{"a method that is none", `{"url":"http://a.test/","method":"GET /"}`, "method"},
		{"a session that cannot be", `{"url":"http://a.test/","session":"../x"}`, "session"},
		{"headers of another type", `{"url":"http://a.test/","headers":{"a":5}}`, "headers"},
		{"a member that is not known", `{"url":"http://a.test/","uri":""}`, "uri"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := w.ask(http.MethodPost, "/v1/explain", tt.body, nil)
			if p := a.isProblem(t, http.StatusBadRequest); p.Parameter != tt.parameter || bytes.Contains(a.body, []byte(w.data)) {
				t.Errorf("names %q: %s", p.Parameter, a.body)
			}
		})
	}
}

func TestExplainA11GivesUpWithTheCaller(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Explain = func(context.Context, ExplainRequest) (Explanation, error) {
			return Explanation{}, context.DeadlineExceeded
		}
	})
	w.ask(http.MethodPost, "/v1/explain", `{"url":"http://a.test/"}`, nil).isProblem(t, http.StatusServiceUnavailable)
}

func TestExplanationA11LeavesOutWhatDoesNotApply(t *testing.T) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 3, 4, 6, 6, 7, 89_123_456, zone)
	tests := []struct {
		name string
		e    Explanation
		want string
	}{
		{"nothing known", Explanation{}, `{}`},
		{"a refusal", Explanation{Outcome: "refuse", Reason: "robots_unreachable", Whose: "source", Status: 503, RetryAt: at, Detail: "d"},
			`{"outcome":"refuse","reason":"robots_unreachable","whose":"source","status":503,"retry_at":"2026-03-04T05:06:07.089Z","detail":"d"}`},
		{"a term to be asked for", Explanation{Terms: []Term{{Kind: rulings.TermRobots, URL: "http://a.test/robots.txt"}}},
			`{"terms":[{"kind":"robots","url":"http://a.test/robots.txt"}]}`},
		{"a breach that is carried", Explanation{Outcome: "proceed", Mode: "observe", Breaches: []Breach{{rulings.HostDenied, "d"}}},
			`{"outcome":"proceed","mode":"observe","breach":[{"reason":"host_denied","detail":"d"}]}`},
		{"instants further down", Explanation{Terms: []Term{{Kind: rulings.TermRobots, URL: "u", FetchedAt: at, ExpiresAt: at}}, Pacing: &Pacing{NextAt: at}},
			`{"terms":[{"kind":"robots","url":"u","fetched_at":"2026-03-04T05:06:07.089Z","expires_at":"2026-03-04T05:06:07.089Z"}],"pacing":{"wait_ms":0,"next_at":"2026-03-04T05:06:07.089Z"}}`},
		{"a host that failed", Explanation{Pacing: &Pacing{WaitMS: 5, BackoffUntil: at, ReservedUntil: at}},
			`{"pacing":{"wait_ms":5,"backoff_until":"2026-03-04T05:06:07.089Z","reserved_until":"2026-03-04T05:06:07.089Z"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.e)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, err)
			}
			if len(tt.e.Terms) > 0 && tt.e.Terms[0].FetchedAt != (time.Time{}) && tt.e.Terms[0].FetchedAt != at {
				t.Error("writing it changed it")
			}
		})
	}
}
