package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A deskWorld is an edge with its desk, and a site that counts.
type deskWorld struct {
	t    *testing.T
	edge *edge
	site *httptest.Server
	host string // of the site
	down func() // stops the edge; safe to call twice

	mu    sync.Mutex
	files map[string]string // what the site serves; a status in digits is one
	asked map[string]int
}

// newDeskWorld starts an edge of the configuration's further lines and a site
// that serves files.
func newDeskWorld(t *testing.T, lines string, files map[string]string) *deskWorld {
	t.Helper()
	w := &deskWorld{t: t, files: files, asked: map[string]int{}}
	w.site = httptest.NewServer(w)
	t.Cleanup(w.site.Close)
	w.host = "127.0.0.1"
	config := filepath.Join(t.TempDir(), "c.yaml")
	text := "data: data\nlisten: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\npolicy: {allow_private: [127.0.0.0/8, localhost], services: [service.test]}\n" + lines
	mustDo(t, os.WriteFile(config, []byte(text), 0o600))
	cfg, err := source{file: config, getenv: func(string) string { return "" }, read: os.ReadFile}.load()
	mustDo(t, err)
	w.edge, err = startEdge(t.Context(), cfg, edgeOptions{log: slog.New(slog.DiscardHandler), unlisted: true})
	mustDo(t, err)
	w.down = sync.OnceFunc(func() { mustDo(t, w.edge.close(context.WithoutCancel(t.Context()))) })
	t.Cleanup(w.down)
	return w
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *deskWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[r.URL.Path]++
	text, ok := w.files[r.URL.Path]
	var status int
	switch n, _ := fmt.Sscanf(text, "%d", &status); {
	case !ok:
		http.NotFound(rw, r)
	case n == 1:
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(status)
	default:
		if text == "charged" {
			rw.Header().Set("Crawler-Charged", "USD 0.01")
		}
		fmt.Fprint(rw, text)
	}
}

// serve changes what the site serves.
func (w *deskWorld) serve(path, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = text
}

// counts returns how often each path was asked for since the last call.
func (w *deskWorld) counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := w.asked
	w.asked = map[string]int{}
	return counts
}

// cross fetches a URL through the edge.
func (w *deskWorld) cross(ctx context.Context, target string) (int, error) {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.edge.at.Proxy, User: url.UserPassword("s", "x")}), DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	mustDo(w.t, err)
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// ask asks the desk and reads the answer into v.
func (w *deskWorld) ask(method, path, body string, v any) int {
	w.t.Helper()
	resp, err := askEdge(w.t.Context(), w.edge.at, method, path, []byte(body))
	mustDo(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	mustDo(w.t, err)
	if err := json.Unmarshal(text, v); err != nil {
		w.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return resp.StatusCode
}

// hostNames walks the list of hosts in pages of limit.
func (w *deskWorld) hostNames(limit int) (names []string) {
	w.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []admin.HostItem
			Next  string
		}
		if status := w.ask(http.MethodGet, fmt.Sprintf("/v1/hosts?limit=%d%s", limit, cursor), "", &page); status != http.StatusOK || len(page.Items) > limit {
			w.t.Fatalf("status %d, %d items", status, len(page.Items))
		}
		for _, item := range page.Items {
			names = append(names, item.Host)
		}
		if page.Next == "" {
			return names
		}
		cursor = "&cursor=" + page.Next
	}
}

// plantPace puts a state where the edge's pacing store has it.
func (w *deskWorld) plantPace(s backoff.State) string {
	w.t.Helper()
	dir := backoffDir(w.edge.cfg.data)
	mustDo(w.t, os.MkdirAll(dir, 0o700))
	file := filepath.Join(dir, backoff.FileName(s.Host)+".json")
	mustDo(w.t, os.WriteFile(file, backoff.Encode(s), 0o600))
	return file
}

// failedHost is the state of a host that failed and is to be left alone for d.
func failedHost(host string, d time.Duration) backoff.State {
	now := backoff.Instant(time.Now())
	return backoff.State{Host: host, SetAt: now, Backoff: backoff.Backoff{Failures: 2, Status: 503, Until: now.Add(d), RetryAfter: true, By: "agent-9"}}
}

func TestA9HostsAreThoseOfThePaceOfTheBookAndOfTheLine(t *testing.T) {
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: 15\n"})
	if names := w.hostNames(10); len(names) > 0 {
		t.Errorf("an edge that crossed to nobody knows %q", names)
	}
	long := strings.Repeat("a", 50) + "." + strings.Repeat("b", 50) + ".test"
	want := []string{"a.test", long, "localhost", "z.test", "127.0.0.1"}
	for _, host := range []string{"a.test", long, "z.test"} {
		w.plantPace(failedHost(host, time.Hour))
	}
	for _, target := range []string{w.site.URL + "/1", strings.Replace(w.site.URL, "127.0.0.1", "localhost", 1) + "/1"} {
		if status, err := w.cross(t.Context(), target); err != nil || status != http.StatusNotFound {
			t.Fatalf("%s: status %d, %v", target, status, err)
		}
	}
	w.bookHas("127.0.0.1", "localhost")
	slices.Sort(want)
	for _, limit := range []int{1, 2, 100} {
		if diff := cmp.Diff(want, w.hostNames(limit)); diff != "" {
			t.Errorf("in pages of %d: %s", limit, diff)
		}
	}
	var page struct{ Items []admin.HostItem }
	w.ask(http.MethodGet, "/v1/hosts?waiting=true", "", &page)
	if len(page.Items) > 0 {
		t.Errorf("nobody waits, but the list says %+v", page.Items)
	}
}

// bookHas waits until the book of terms has written what origins of hosts said,
// which it does behind the crossings' backs.
func (w *deskWorld) bookHas(hosts ...string) {
	w.t.Helper()
	for _, host := range hosts {
		for {
			origins, err := originsOf(w.t.Context(), originsDir(w.edge.cfg.data), host)
			mustDo(w.t, err)
			if len(origins) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// Whoever waits is seen, by the desk and by a command that runs on the edge.
func TestA9A19WhoWaitsIsTold(t *testing.T) {
	w := newDeskWorld(t, "pacing: {max_wait: 50s}\n", map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: 40\n"})
	if status, err := w.cross(t.Context(), w.site.URL+"/1"); err != nil || status != http.StatusNotFound {
		t.Fatalf("status %d, %v", status, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	var crossing sync.WaitGroup
	crossing.Go(func() { _, _ = w.cross(ctx, w.site.URL+"/2") }) // ends as the client leaves
	defer crossing.Wait()
	defer leave()
	var page struct{ Items []admin.HostItem }
	for len(page.Items) == 0 {
		w.ask(http.MethodGet, "/v1/hosts?waiting=true", "", &page)
	}
	item := page.Items[0]
	if p := item.Pacing; item.Host != w.host || item.Class != rulings.Source || p.Waiting.Count != 1 || p.Waiting.Cause != "crawl_delay" || p.Turn.Reserved.IsZero() {
		t.Errorf("%+v", item)
	}
	waits, err := waitingAt(w.edge.at)(t.Context())
	for errors.Is(err, context.DeadlineExceeded) { // it has a second
		waits, err = waitingAt(w.edge.at)(t.Context())
	}
	want := []backoff.HostWait{{Host: w.host, Count: 1, Until: item.Pacing.Waiting.Until, Cause: backoff.ReasonCrawlDelay}}
	if diff := cmp.Diff(want, waits); diff != "" || err != nil {
		t.Errorf("a command that runs on the edge is told %v, %s", err, diff)
	}
	own, _ := w.edge.waitingHosts(t.Context())
	if len(own) != 1 || own[0].Count != 1 {
		t.Errorf("%+v", own)
	}
	w.counted("wayleave_pacing_waiting 1")
	gone := w.edge.at
	gone.Token = filepath.Join(t.TempDir(), "none")
	if _, err := waitingAt(gone)(t.Context()); err == nil {
		t.Error("without a token waits are told")
	}
}

// metrics are what Prometheus reads.
func (w *deskWorld) metrics() string {
	w.t.Helper()
	resp, err := askEdge(w.t.Context(), w.edge.at, http.MethodGet, "/metrics", nil)
	mustDo(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	mustDo(w.t, err)
	return string(text)
}

// counted waits until the metrics have lines: some crossings end after their
// client has its answer.
func (w *deskWorld) counted(lines ...string) (metrics string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	missing := func(line string) bool { return !strings.Contains(metrics, "\n"+line+"\n") }
	for metrics = w.metrics(); slices.ContainsFunc(lines, missing); metrics = w.metrics() {
		if ctx.Err() != nil {
			w.t.Fatalf("of %q some are missing in\n%s", lines, metrics)
		}
	}
	return metrics
}

const (
	statedRobots = "User-agent: *\nAllow: /\nCrawl-delay: 0.01\nContent-Signal: ai-train=no, ai-input=yes\nLicense: /licence.xml\n"
	openLicence  = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`
)

func TestA9AHostTellsItsTermsAndItsPace(t *testing.T) {
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": statedRobots, "/licence.xml": openLicence, "/": "page"})
	if status, err := w.cross(t.Context(), w.site.URL+"/"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	w.bookHas(w.host)
	w.counts()
	var got admin.Host
	if status := w.ask(http.MethodGet, "/v1/hosts/"+w.host, "", &got); status != http.StatusOK || len(got.Origins) != 1 {
		t.Fatalf("status %d, %+v", status, got)
	}
	if len(w.counts()) > 0 {
		t.Error("the host was asked")
	}
	said := got.Origins[0]
	var terms []string
	for _, term := range said.Terms {
		terms = append(terms, fmt.Sprint(term.Kind, " ", strings.TrimPrefix(term.URL, w.site.URL), " ", term.Outcome, " ", term.Cache, " ", !term.ExpiresAt.IsZero(), " ", len(term.Object)))
	}
	if diff := cmp.Diff([]string{"robots /robots.txt read reused true 71", "licence /licence.xml read reused true 71"}, terms); diff != "" || said.Origin != w.site.URL {
		t.Errorf("%s: %s", said.Origin, diff)
	}
	wantRobots := &admin.HostRobots{
		Groups: []admin.RobotsGroup{{Token: "wayleave", Group: "*", Rule: "Allow: /", Line: 2, Allowed: true}},
		Lines: []admin.RobotsLine{
			{Line: 3, Text: "Crawl-delay: 0.01"}, {Line: 4, Text: "Content-Signal: ai-train=no, ai-input=yes"}, {Line: 5, Text: "License: /licence.xml"},
		},
		DelayMS: 10,
	}
	if diff := cmp.Diff(wantRobots, said.Robots); diff != "" {
		t.Error(diff)
	}
	if len(said.Statements) == 0 || len(said.Licences) != 1 || said.Effective["ai-input"] != "allow" {
		t.Errorf("%+v", said)
	}
	if turn := got.Pacing.Turn; turn == nil || turn.DelayMS != 10 || turn.Reserved.IsZero() || turn.Answered.IsZero() {
		t.Errorf("%+v", turn)
	}
	if got.Pacing.Backoff != nil || got.Pacing.Reservation != nil || got.Pacing.Waiting != nil || got.Pacing.Unavailable != "" {
		t.Errorf("nothing else binds, but %+v", got.Pacing)
	}
}

func TestA9AHostTellsWhatBindsIt(t *testing.T) {
	w := newDeskWorld(t, "", nil)
	s := failedHost("failed.test", time.Hour)
	s.Reservation = backoff.Reservation{ID: "x", Deadline: s.SetAt.Add(time.Minute), By: "agent-8"}
	w.plantPace(s)
	var got admin.Host
	w.ask(http.MethodGet, "/v1/hosts/FAILED.test.", "", &got)
	b := got.Pacing.Backoff
	if b == nil || b.WaitMS <= 0 || b.WaitMS > time.Hour.Milliseconds()+1 { // instants are rounded up
		t.Fatalf("%+v", got)
	}
	b.WaitMS = 0
	want := &admin.HostBackoff{Failures: 2, Status: 503, Until: s.Backoff.Until, RetryAfter: true, By: "agent-9"}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&admin.HostReservation{Deadline: s.Reservation.Deadline, By: "agent-8"}, got.Pacing.Reservation); diff != "" || len(got.Origins) > 0 {
		t.Error(diff)
	}

	mustDo(t, os.WriteFile(filepath.Join(backoffDir(w.edge.cfg.data), "broken.test.json"), []byte("nonsense"), 0o600))
	var broken admin.Host
	status := w.ask(http.MethodGet, "/v1/hosts/broken.test", "", &broken)
	if p := broken.Pacing; status != http.StatusOK || !strings.Contains(p.Unavailable, "cannot be read") || strings.Contains(p.Unavailable, "/") || p.Backoff != nil {
		t.Errorf("status %d, %+v", status, p)
	}
	if names := w.hostNames(5); !slices.Equal(names, []string{"broken.test", "failed.test"}) {
		t.Errorf("%q", names)
	}
	if metrics := w.metrics(); !strings.Contains(metrics, `wayleave_pacing_store_faults_total{class="state_unreadable"} 2`) || !strings.Contains(metrics, `{class="lock_held"} 0`) {
		t.Error("the fault was not counted with its class")
	}
	var none map[string]any
	for method, path := range map[string]string{http.MethodGet: "/v1/hosts/unknown.test", http.MethodPost: "/v1/hosts/failed.test/refresh"} {
		if status := w.ask(method, path, "", &none); status != http.StatusNotFound {
			t.Errorf("%s %s: status %d", method, path, status)
		}
	}
	if status := w.ask(http.MethodPost, "/v1/hosts/service.test/refresh", "", &none); status != http.StatusConflict {
		t.Errorf("a service is asked for terms: status %d", status)
	}
}

func TestA9RefreshAsksForWhatIsHeldAgain(t *testing.T) {
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": statedRobots, "/licence.xml": openLicence, "/": "page"})
	if status, err := w.cross(t.Context(), w.site.URL+"/"); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	w.bookHas(w.host)
	w.counts()
	w.serve("/robots.txt", strings.Replace(statedRobots, "Allow: /", "Disallow: /", 1))
	var got admin.Host
	if status := w.ask(http.MethodPost, "/v1/hosts/"+w.host+"/refresh", "", &got); status != http.StatusOK || len(got.Origins) != 1 {
		t.Fatalf("status %d, %+v", status, got)
	}
	if diff := cmp.Diff(map[string]int{"/robots.txt": 1, "/licence.xml": 1}, w.counts()); diff != "" {
		t.Error(diff)
	}
	said := got.Origins[0]
	for _, term := range said.Terms {
		if term.Cache != rulings.CacheFetched || term.Outcome != rulings.TermRead {
			t.Errorf("%+v", term)
		}
	}
	if said.Robots.Groups[0].Allowed || said.Robots.Groups[0].Line != 2 {
		t.Errorf("%+v is not what the site says now", said.Robots.Groups)
	}
	// What the site says now rules.
	if status, err := w.cross(t.Context(), w.site.URL+"/"); err != nil || status != http.StatusForbidden {
		t.Errorf("status %d, %v", status, err)
	}
}

// A refresh is a request like any other to a host that wants to be left alone.
func TestA9RefreshLiftsNoBackOff(t *testing.T) {
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": statedRobots, "/licence.xml": openLicence, "/": "503"})
	if status, err := w.cross(t.Context(), w.site.URL+"/"); err != nil || status != http.StatusServiceUnavailable {
		t.Fatalf("status %d, %v", status, err)
	}
	w.bookHas(w.host)
	w.counts()
	file := filepath.Join(backoffDir(w.edge.cfg.data), backoff.FileName(w.host)+".json")
	before, err := os.ReadFile(file)
	mustDo(t, err)
	var got admin.Host
	if status := w.ask(http.MethodPost, "/v1/hosts/"+w.host+"/refresh", "", &got); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if counts := w.counts(); len(counts) > 0 {
		t.Errorf("the host was asked for %v", counts)
	}
	for _, term := range got.Origins[0].Terms { // what asking again did not bring stays as it was
		if term.Cache != rulings.CacheReused {
			t.Errorf("%+v", term)
		}
	}
	after, err := os.ReadFile(file)
	if b := got.Pacing.Backoff; err != nil || string(before) != string(after) || b == nil || b.Failures != 1 || b.WaitMS < 500_000 {
		t.Errorf("the state was %s and is %s, told as %+v, %v", before, after, got.Pacing.Backoff, err)
	}
	// The robots.txt that was held goes on ruling.
	if said := got.Origins[0]; said.Robots == nil || !said.Robots.Groups[0].Allowed {
		t.Errorf("%+v", said)
	}
	if metrics := w.metrics(); !strings.Contains(metrics, `wayleave_pacing_refusals_total{of="edge",reason="backoff"} 2`) {
		t.Error("the refusals of the edge's own requests were not counted")
	}
}

// waited returns how many crossings have waited for their turn, as their records say.
func (w *deskWorld) waited() (n int) {
	w.t.Helper()
	var page struct {
		Items []struct {
			Payload struct {
				Pacing struct{ Delay struct{ Outcome string } }
			}
		}
	}
	w.ask(http.MethodGet, "/v1/crossings?limit=1000", "", &page)
	for _, x := range page.Items {
		if x.Payload.Pacing.Delay.Outcome == "waited" {
			n++
		}
	}
	return n
}

func TestA16WhatPacingDoesIsCounted(t *testing.T) {
	w := newDeskWorld(t, "pacing: {max_wait: 30s}\n", map[string]string{"/robots.txt": "User-agent: *\nCrawl-delay: 0.3\n", "/fails": "503"})
	cross := func(path string) {
		t.Helper()
		if _, err := w.cross(t.Context(), w.site.URL+path); err != nil {
			t.Fatal(path, err)
		}
	}
	cross("/goes")
	for w.waited() < 2 { // who comes late has nothing to wait for
		cross("/waits")
	}
	cross("/fails")
	cross("/refused")
	metrics := w.counted(
		fmt.Sprintf(`wayleave_pacing_wait_seconds_count{cause="crawl_delay",of="agent"} %d`, w.waited()),
		`wayleave_pacing_refusals_total{of="agent",reason="backoff"} 1`,
		`wayleave_pacing_waiting 0`,
	)
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "wayleave_pacing") && (strings.Contains(line, w.host) || strings.Contains(line, "/waits")) {
			t.Errorf("%s names what a stranger chose", line)
		}
	}
}

func TestT14OriginsAreReadBackFromTheNamesOfTheirFiles(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a", 60) + ".test"
	hosts := map[string][]string{
		"site.test":      {"https://site.test", "https://site.test:8443", "http://site.test", "http://site.test:8080"},
		"site.test.test": {"http://site.test.test"},
		"a_b.test":       {"https://a_b.test", "http://a_b.test"},
		"127.0.0.1":      {"http://127.0.0.1:1"},
		"::1":            {"https://[::1]", "http://[::1]:81"},
		long:             {"https://" + long + ":444", "http://" + long},
	}
	for _, origins := range hosts {
		for _, text := range origins {
			scheme, authority, _ := strings.Cut(text, "://")
			o, err := hostkey.ParseOrigin(scheme, authority)
			mustDo(t, err)
			mustDo(t, os.WriteFile(filepath.Join(dir, o.FileKey()+".json"), fmt.Appendf(nil, `{"format":"x","origin":%q}`, text), 0o600))
		}
	}
	for _, name := range []string{".lock", "SITE.test.json", "site.test_ftp_21.json", "site.test_http_0.json", "site.test_http_080.json", "site.test_https_443.json",
		"a_b.test-" + strings.Repeat("0", 64) + ".json", "site.test.json.tmp"} {
		mustDo(t, os.WriteFile(filepath.Join(dir, name), []byte(`{"origin":"https://elsewhere.test"}`), 0o600))
	}
	mustDo(t, unix.Mkfifo(filepath.Join(dir, "a_b.test-"+strings.Repeat("1", 64)+".json"), 0o600)) // nobody writes to it
	for host, want := range hosts {
		found, err := originsOf(t.Context(), dir, host)
		mustDo(t, err)
		var got []string
		for _, o := range found {
			got = append(got, o.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
	var all []string
	mustDo(t, eachOrigin(t.Context(), dir, func(string) bool { return true }, func(o hostkey.Origin) bool { all = append(all, o.String()); return true }))
	if len(all) != 12 {
		t.Errorf("%d origins: %q", len(all), all)
	}
	if found, err := originsOf(t.Context(), filepath.Join(dir, "none"), "a.test"); len(found) > 0 || err != nil {
		t.Errorf("a folder that is not there has %v, %v", found, err)
	}
}

func TestA9TheFirstNamesOfManyTakeLittleRoom(t *testing.T) {
	first := firstNames{after: "n0500", most: 3}
	for i := range 100_000 {
		first.add(fmt.Sprintf("n%04d", (i*7919)%10_000))
		if len(first.names) > 2*first.most+1024 {
			t.Fatalf("%d names are kept", len(first.names))
		}
	}
	first.trim()
	if diff := cmp.Diff([]string{"n0501", "n0502", "n0503"}, first.names); diff != "" {
		t.Error(diff)
	}
}
