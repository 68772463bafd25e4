package terms

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings"
)

// A vector is one case of the kind "fetch" in a robots.json.
type vector struct {
	ID, Kind string
	Answer   vectorAnswer
	Held     *struct {
		vectorFile
		Age int64 `json:"age_s"`
	}
	Tokens    []string
	UserAgent string `json:"user_agent"`
	Target    string
	Expect    struct {
		Outcome   *rulings.TermOutcome
		Access    *string
		Reason    *rulings.Reason
		Life      json.RawMessage `json:"life_s"`
		HeldUsed  *bool           `json:"held_used"`
		Truncated *bool
	}
}

// A vectorAnswer is how the site answers.
type vectorAnswer struct {
	vectorFile
	Redirects    int
	FinalURL     string `json:"final_url"`
	CacheControl string `json:"cache_control"`
	ContentType  string `json:"content_type"`
	Failure      string
}

// A vectorFile is an answer's status and body in any of the forms of a text input.
type vectorFile struct {
	Status int
	Body   string
	Base64 []byte `json:"body_b64"`
	Parts  []struct {
		S string
		N int
	} `json:"body_parts"`
}

func (f vectorFile) body() []byte {
	var b bytes.Buffer
	b.WriteString(f.Body)
	b.Write(f.Base64)
	for _, p := range f.Parts {
		b.WriteString(strings.Repeat(p.S, p.N))
	}
	return b.Bytes()
}

// The book is run against an origin that answers as the vector says, and the
// ruling is made on what it returns (T125).
func TestT15FetchVectors(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "robots.json", vectors.OfKind("fetch")) {
		t.Run(v.ID, func(t *testing.T) { synctest.Test(t, v.run) })
	}
}

func (v vector) run(t *testing.T) {
	w := newWorld(t)
	site := v.site(t)
	b := w.open(t.TempDir())

	if v.Held != nil {
		v.hold(t, w, b, site)
	}
	v.Answer.place(w, site)
	before := w.asked()
	got := b.Robots(t.Context(), site)
	arrived := time.Now().UTC()
	got.Exempt = rulings.Exempt(site, v.Target)
	policy, faults := rulings.NewPolicy(rulings.PolicyFile{Identity: rulings.IdentityFile{ProductToken: v.Tokens}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	ruling := rulings.Decide(rulings.Request{
		Method: http.MethodGet, Origin: site, Target: v.Target, UserAgent: v.UserAgent,
	}, rulings.Terms{Robots: got}, policy)

	check(t, "outcome", got.Outcome, v.Expect.Outcome)
	access := "allow"
	if ruling.Refused() {
		access = "refuse"
	}
	check(t, "access", access, v.Expect.Access)
	check(t, "reason", ruling.Reason, v.Expect.Reason)
	check(t, "held_used", got.Cache == rulings.CacheHeld, v.Expect.HeldUsed)
	check(t, "truncated", got.Truncated, v.Expect.Truncated)
	if final, ok := redirectTarget(site.String(), v.Answer.FinalURL); ok && v.Answer.Failure == "" && got.FinalURL != final {
		t.Errorf("final URL %q, want %q", got.FinalURL, final)
	}
	if v.Answer.Failure == "" && w.asked()-before != v.Answer.hops()+1 {
		t.Errorf("%d requests for %d redirects", w.asked()-before, v.Answer.hops())
	}
	checkLife(t, b, v.Expect.Life, arrived, got.ExpiresAt, func() { b.Robots(t.Context(), site) })
}

func check[T comparable](t *testing.T, what string, got T, want *T) {
	t.Helper()
	if want != nil && got != *want {
		t.Errorf("%s: %v, want %v", what, got, *want)
	}
}

// site is the origin of the vector. A TLS fault needs one over https.
func (v vector) site(t *testing.T) hostkey.Origin {
	if v.Answer.Failure == "tls" {
		return origin(t, "https", "site.test")
	}
	return origin(t, "http", "site.test")
}

// hold has the book read the held answer and lets it grow old.
func (v vector) hold(t *testing.T, w *world, b *Book, site hostkey.Origin) {
	h := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=0")
		rw.WriteHeader(v.Held.Status)
		rw.Write(v.Held.body())
	})
	w.serve(site.Authority(), h)
	if got := b.Robots(t.Context(), site); got.Site == nil {
		t.Fatalf("the held copy was not read: %+v", got)
	}
	time.Sleep(time.Duration(v.Held.Age) * time.Second)
}

// place makes the origin answer as the vector says from now on.
func (v vectorAnswer) place(w *world, site hostkey.Origin) {
	switch v.Failure {
	case "dns":
		w.remove(site.Authority(), nil)
		return
	case "connect":
		w.remove(site.Authority(), syscall.ECONNREFUSED)
		return
	case "tls":
		w.speakNoTLS(site.Authority())
		return
	case "cut_short":
		w.setEdge(FailureBackoff)
		return
	}
	last := v.handler(w)
	hops := v.hops()
	next := func(n int) string {
		if n == hops && v.FinalURL != "" {
			return v.FinalURL
		}
		return fmt.Sprintf("/hop/%d", n)
	}
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := 0
		fmt.Sscanf(r.URL.Path, "/hop/%d", &n)
		if n == hops {
			last(rw, r)
			return
		}
		rw.Header().Set("Location", next(n+1))
		rw.WriteHeader(http.StatusMovedPermanently)
	})
	w.serve(site.Authority(), h)
	if u, err := url.Parse(v.FinalURL); err == nil && u.Host != "" {
		if final, err := hostkey.ParseOrigin(u.Scheme, u.Host); err == nil && final != site {
			w.serve(final.Authority(), last)
		}
	}
}

// hops is the number of redirects before the answer.
func (v vectorAnswer) hops() int {
	switch {
	case v.Failure == "redirect_limit":
		return max(v.Redirects, 6)
	case v.FinalURL != "":
		return max(v.Redirects, 1)
	}
	return v.Redirects
}

// handler is the end of the redirects.
func (v vectorAnswer) handler(w *world) http.HandlerFunc {
	switch v.Failure {
	case "timeout":
		return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	case "broken_body":
		return breakOff("User-agent: *\nAllow: /\n", 100)
	case "bad_coding":
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			io.WriteString(rw, "User-agent: *\nAllow: /\n")
		}
	case "redirect_refused":
		w.barred["inside.test"] = rulings.PrivateAddress
		return func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://inside.test/robots.txt", http.StatusFound)
		}
	}
	return func(rw http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{"Cache-Control": v.CacheControl, "Content-Type": v.ContentType} {
			if value != "" {
				rw.Header().Set(name, value)
			}
		}
		rw.WriteHeader(v.Status)
		rw.Write(v.body())
	}
}

// breakOff sends body under a length that is larger by missing, and hangs up.
func breakOff(body string, missing int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(len(body)+missing))
		io.WriteString(rw, body)
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// checkLife asks again at the end of the life that a vector expects, just before
// and just after. A life of null or 0 is asked again at once.
func checkLife(t *testing.T, b *Book, want json.RawMessage, arrived, expires time.Time, ask func()) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	var seconds *int64
	if err := json.Unmarshal(want, &seconds); err != nil {
		t.Fatal(err)
	}
	probes := 0
	b.client = countingClient{b.client, &probes}
	if seconds == nil || *seconds == 0 {
		if ask(); probes == 0 {
			t.Error("what is not kept was used a second time")
		}
		return
	}
	life := time.Duration(*seconds) * time.Second
	if !expires.Equal(arrived.Add(life)) {
		t.Errorf("expires %v after the probe, want %v", expires.Sub(arrived), life)
	}
	time.Sleep(life - time.Nanosecond)
	if ask(); probes != 0 {
		t.Errorf("asked again before %v were over", life)
	}
	time.Sleep(time.Nanosecond)
	if ask(); probes == 0 {
		t.Errorf("not asked again after %v", life)
	}
}

// A countingClient counts the requests that leave.
type countingClient struct {
	Client
	n *int
}

func (c countingClient) Get(ctx context.Context, url string, h http.Header) (*http.Response, error) {
	*c.n++
	return c.Client.Get(ctx, url, h)
}
