package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/rulings"
)

// A policyWorld is a deskWorld whose edge reads its configuration again.
type policyWorld struct {
	*deskWorld
	file string
}

// newPolicyWorld starts an edge on a configuration with the given lines.
func newPolicyWorld(t *testing.T, lines string) *policyWorld {
	t.Helper()
	w := &policyWorld{&deskWorld{t: t, files: map[string]string{"/a": "text"}, asked: map[string]int{}}, filepath.Join(t.TempDir(), "c.yaml")}
	w.site = httptest.NewServer(w)
	t.Cleanup(w.site.Close)
	w.write(lines)
	src := source{file: w.file, getenv: func(string) string { return "" }, read: os.ReadFile}
	cfg, err := src.load()
	mustDo(t, err)
	w.edge, err = startEdge(t.Context(), cfg, edgeOptions{source: src, log: slog.New(slog.DiscardHandler), unlisted: true})
	mustDo(t, err)
	t.Cleanup(func() { mustDo(t, w.edge.close(context.WithoutCancel(t.Context()))) })
	return w
}

// write changes the file.
func (w *policyWorld) write(lines string) {
	w.t.Helper()
	mustDo(w.t, os.WriteFile(w.file, []byte("data: data\nlisten: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\n"+lines), 0o600))
}

// reload asks for a reload and returns the answer's status and what it told.
func (w *policyWorld) reload() (int, admin.PolicyCheck) {
	w.t.Helper()
	var got admin.PolicyCheck
	status := w.ask(http.MethodPost, "/v1/policy/reload", "", &got)
	return status, got
}

// Policies that say the same of where and another thing of what comes of it, and
// one under which no address of the machine is dialled.
const (
	openPolicy   = "policy: {allow_private: [127.0.0.0/8], hosts: {deny: [127.0.0.1]}, mode: observe}\n"
	closedPolicy = "policy: {allow_private: [127.0.0.0/8], hosts: {deny: [127.0.0.1]}, mode: strict}\n"
	publicPolicy = "policy: {allow_private: [192.168.77.0/24], hosts: {deny: [127.0.0.1]}, mode: strict}\n"
	brokenPolicy = "policy: {allow_private: [127.0.0.0/8], mod: strict}\n"
)

// Whatever is reloaded meanwhile, every crossing is ruled on one of the policies,
// whole, and its record names that one.
func TestO4ReloadsUnderLoadLeaveNoCrossingOnHalfAPolicy(t *testing.T) {
	w := newPolicyWorld(t, openPolicy)
	const clients, rounds = 4, 12
	var stop atomic.Bool
	var going sync.WaitGroup
	var crossed [clients]atomic.Int64
	urls := [...]string{w.site.URL, strings.Replace(w.site.URL, "127.0.0.1", "localhost", 1)} // whose address only a dial finds out
	for i := range clients {
		going.Go(func() {
			for !stop.Load() {
				if status, err := w.cross(t.Context(), urls[i%2]+"/a"); err != nil || status != http.StatusOK && status != http.StatusForbidden {
					t.Errorf("status %d, error %v", status, err)
					return
				}
				crossed[i].Add(1)
			}
		})
	}
	for round := range rounds {
		for _, lines := range []string{closedPolicy, brokenPolicy, publicPolicy, openPolicy, brokenPolicy, publicPolicy} {
			w.write(lines)
			status, got := w.reload()
			if want := lines != brokenPolicy; got.Loads != want || (status == http.StatusOK) != want {
				t.Errorf("round %d, %q: status %d, %+v", round, lines, status, got)
			}
			before := crossed[round%clients].Load()
			for crossed[round%clients].Load() == before && !t.Failed() { // some crossing is ruled on each of them
				for _, url := range urls {
					if _, err := w.cross(t.Context(), url+"/a"); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	stop.Store(true)
	going.Wait()
	seen := w.outcomes()
	want := map[string]bool{
		loadWhole(t, openPolicy).Digest().String() + " delivered ":                true,
		loadWhole(t, closedPolicy).Digest().String() + " refused host_denied":     true,
		loadWhole(t, closedPolicy).Digest().String() + " delivered ":              true, // localhost
		loadWhole(t, publicPolicy).Digest().String() + " refused private_address": true,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("policies and what came of them (-want +got):\n%s", diff)
	}
}

// outcomes returns, from all records, each pair of a policy and what came of it.
func (w *policyWorld) outcomes() map[string]bool {
	w.t.Helper()
	seen := map[string]bool{}
	for next := ""; ; {
		var page struct {
			Items []struct {
				Payload struct {
					Outcome      string
					PolicyDigest string `json:"policy_digest"`
					Refusal      struct{ Reason string }
				}
			}
			Next string
		}
		if status := w.ask(http.MethodGet, "/v1/crossings?limit=1000"+next, "", &page); status != http.StatusOK {
			w.t.Fatalf("status %d", status)
		}
		for _, item := range page.Items {
			seen[fmt.Sprintf("%s %s %s", item.Payload.PolicyDigest, item.Payload.Outcome, item.Payload.Refusal.Reason)] = true
		}
		if page.Next == "" {
			return seen
		}
		next = "&cursor=" + page.Next
	}
}

func TestO4AFileThatHasBecomeEmptyOrIsAPipeIsAFault(t *testing.T) {
	w := newPolicyWorld(t, closedPolicy)
	inForce := w.edge.policy.Load()
	for what, c := range map[string]struct {
		become  func(file string) error
		problem string
	}{
		"cut short":            {func(f string) error { return os.WriteFile(f, nil, 0o600) }, "the file is empty; for the default policy write policy: {}"},
		"only a comment":       {func(f string) error { return os.WriteFile(f, []byte("# none\n"), 0o600) }, "the file is empty; for the default policy write policy: {}"},
		"a pipe":               {func(f string) error { return unix.Mkfifo(f, 0o600) }, "cannot be read: it is no regular file, so it is read only when the edge starts"},
		"a device with an end": {func(f string) error { return os.Symlink(os.DevNull, f) }, "cannot be read: it is no regular file, so it is read only when the edge starts"},
	} {
		mustDo(t, os.Remove(w.file))
		mustDo(t, c.become(w.file))
		status, got := w.reload()
		if status != http.StatusUnprocessableEntity || len(got.Faults) != 1 || got.Faults[0].Problem != c.problem {
			t.Errorf("%s: status %d, %+v", what, status, got)
		}
		if w.edge.policy.Load() != inForce {
			t.Fatalf("%s: another policy is in force", what)
		}
	}
	mustDo(t, os.Remove(w.file))
	mustDo(t, os.WriteFile(w.file, []byte("policy: {}\n"), 0o600))
	if status, got := w.reload(); status != http.StatusOK || !got.Loads {
		t.Errorf("the default policy, asked for: status %d, %+v", status, got)
	}
	mustDo(t, os.WriteFile(w.file, nil, 0o600)) // and what changes nothing is no fault
	if status, got := w.reload(); status != http.StatusOK || !got.Loads {
		t.Errorf("an empty file under the default policy: status %d, %+v", status, got)
	}
}

func TestA14ThePolicyInForceIsTheOneLastReloaded(t *testing.T) {
	w := newPolicyWorld(t, "auth: token\nconnect_ports: [443]\npolicy:\n  mode: strict\n  sessions: [{user: \"ci-*\", mode: observe}]\n")
	var got admin.Policy
	w.ask(http.MethodGet, "/v1/policy", "", &got)
	before := loadWhole(t, "auth: token\npolicy: {mode: strict, sessions: [{user: \"ci-*\", mode: observe}]}")
	if diff := cmp.Diff(policyView(before), got); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	w.write("auth: token\nconnect_ports: [443, 80]\npolicy: {mode: prefer}\n")
	status, reloaded := w.reload()
	after := loadWhole(t, "policy: {mode: prefer}")
	want := admin.PolicyCheck{Loads: true, Changed: true, Restart: []string{"connect_ports"}, Policy: policyView(after)}
	if diff := cmp.Diff(want, reloaded); status != http.StatusOK || diff != "" {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
	if got := w.edge.policy.Load().Digest(); got != after.Digest() {
		t.Errorf("in force is %s", got)
	}
	if _, again := w.reload(); again.Changed {
		t.Error("the same file is told to be another policy")
	}
	for _, p := range []*rulings.Policy{before, before.Overlays()[0].Policy, after} {
		if kept, err := w.edge.book.Object(p.Digest()); err != nil || string(kept) != string(p.Canonical()) {
			t.Errorf("O5: %s is not kept (%v)", p.Digest(), err)
		}
	}
}

func TestO4FaultsAreToldAndCountedAndThePolicyStays(t *testing.T) {
	w := newPolicyWorld(t, openPolicy)
	before := w.edge.policy.Load()
	w.write("admin: {}\n" + brokenPolicy) // admin stands in the file already
	status, got := w.reload()
	want := []admin.PolicyFault{
		{At: "c.yaml:4", Line: 4, Key: "admin", Problem: "given twice; it stands in line 3 already"},
		{At: "c.yaml:5", Line: 5, Key: "policy.mod", Problem: got.Faults[len(got.Faults)-1].Problem},
	}
	if diff := cmp.Diff(want, got.Faults); status != http.StatusUnprocessableEntity || diff != "" {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
	if w.edge.policy.Load() != before {
		t.Error("the policy in force did not stay")
	}
	resp, err := askEdge(t.Context(), w.edge.at, http.MethodGet, "/metrics", nil)
	mustDo(t, err)
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	mustDo(t, err)
	if !strings.Contains(string(metrics), `wayleave_policy_reloads_total{outcome="refused"} 1`) {
		t.Error("the reload is not counted")
	}
}

func TestO3APolicyThatDoesNotLoadIsToldWithItsFaults(t *testing.T) {
	w := newPolicyWorld(t, brokenPolicy)
	var got admin.Policy
	w.ask(http.MethodGet, "/v1/policy", "", &got)
	if got.Digest != "" || len(got.Faults) != 1 || got.Faults[0].Key != "policy.mod" {
		t.Errorf("%+v", got)
	}
	w.write(openPolicy)
	if status, got := w.reload(); status != http.StatusOK || !got.Changed {
		t.Errorf("the first reload that loads does not end it: status %d, %+v", status, got)
	}
	got = admin.Policy{}
	if w.ask(http.MethodGet, "/v1/policy", "", &got); got.Digest == "" || len(got.Faults) > 0 {
		t.Errorf("%+v", got)
	}
}

// An edge that asks nobody for credentials takes no overlays from a file that by
// now says auth: token: that needs a new start.
func TestO6AReloadBringsNoOverlaysToAnOpenEdge(t *testing.T) {
	w := newPolicyWorld(t, openPolicy)
	w.write("auth: token\npolicy:\n  sessions: [{user: x, mode: observe}]\n")
	status, got := w.reload()
	if status != http.StatusUnprocessableEntity || len(got.Faults) != 1 || got.Faults[0].Key != "policy.sessions" || got.Faults[0].Line != 6 {
		t.Errorf("status %d, %+v", status, got)
	}
}

func TestA14ADraftIsCheckedAndChangesNothing(t *testing.T) {
	w := newPolicyWorld(t, openPolicy)
	before := w.edge.policy.Load()
	for body, want := range map[string]struct {
		keys    []string // of faults
		changed bool
	}{
		`{}`: {nil, false},
		`{"policy":{"hosts":{"deny":["127.0.0.1"]},"allow_private":["127.0.0.0/8"]}}`:        {nil, false},
		`{"policy":"allow_private: [127.0.0.0/8] # the same\nhosts: {deny: [127.0.0.1]}\n"}`: {nil, false},
		`{"policy":{}}`:             {nil, true},
		`{"policy":"mode: strict"}`: {nil, true},
		`{"policy":{"caps":{"body_bytes":1000},"mode":"strict"}}`:                                        {nil, true},
		`{"policy":"mode: strickt\nhosts:\n  deny: [a..b]\n"}`:                                           {[]string{"policy.mode", "policy.hosts.deny[0]"}, false},
		`{"policy":{"mode":"strickt"}}`:                                                                  {[]string{"policy.mode"}, false},
		`{"policy":{"mode":"strict","mode":"observe"}}`:                                                  {[]string{"policy.mode"}, false},
		`{"policy":"- a list"}`:                                                                          {[]string{"policy"}, false},
		`{"policy":"policy: {mode: strict}"}`:                                                            {[]string{"policy.policy"}, false},
		`{"policy":{"allowances":[{"name":"a","user":"*","period":"day","amount":5,"currency":"USD"}]}}`: {[]string{"policy.allowances[0].amount"}, false},
	} {
		var got admin.PolicyCheck
		status := w.ask(http.MethodPost, "/v1/policy/check", body, &got)
		var keys []string
		for _, f := range got.Faults {
			keys = append(keys, f.Key)
		}
		if diff := cmp.Diff(want.keys, keys); status != http.StatusOK || diff != "" || got.Changed != want.changed || got.Loads != (want.keys == nil) {
			t.Errorf("%s: status %d, %+v", body, status, got)
		}
	}
	if w.edge.policy.Load() != before {
		t.Error("a check changed the policy in force")
	}
}

// Whatever a draft is, it is read or has faults of one line each.
func FuzzParseDraft(f *testing.F) {
	seeds := []string{`{}`, `"mode: strict"`, `{"mode":"strict","sessions":[{"user":"a","hosts":{"deny":["x"]}}]}`, `"- x"`, `"a: [\n"`, `"---\n---\n"`, `{"a":1e999}`, `""`, `null`, `5`, `{`}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, draft []byte) {
		settings, found := withDraft(nil, nil, draft)
		for _, one := range found {
			if !inPolicy(one.key) && !strings.HasPrefix(one.key, `"policy`) || strings.ContainsAny(one.String(), "\n\r") {
				t.Errorf("fault %q is none of the policy's, or of several lines", one)
			}
		}
		c := newConfig("")
		c.apply(settings)
		c.checkPolicy()
	})
}
