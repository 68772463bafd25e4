//go:build clients

package clients

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An asker is a client as doctor names it, with what it runs to get one URL.
type asker struct {
	name string // of doctor's check
	path string // what is asked for
	argv []string
}

func askers(t *testing.T) []asker {
	t.Helper()
	script := func(name string) string { return filepath.Join("testdata", name) }
	return []asker{
		{"client curl", "/page", []string{program(t, "curl", "curl"), "--silent", "--show-error", "--fail"}},
		{"client git", "/open.git", []string{program(t, "git", "git"), "ls-remote", "--quiet"}},
		{"client Python httpx, urllib", "/page", []string{python(t), script("client.py"), "urllib"}},
		{"client Node", "/page", []string{node(t), script("client.mjs")}},
		{"client Go", "/page", []string{built.goClient, "set"}},
		{"client Java", "/page", java(t)},
	}
}

// parts are environments that lack something of what `wayleave env` prints.
func parts(whole []string) map[string][]string {
	isProxy := func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), "_proxy") && name != "NODE_USE_ENV_PROXY"
	}
	only := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(whole), func(n string) bool { return !isProxy(n) && !slices.Contains(names, n) })
	}
	without := func(drop func(string) bool) []string { return slices.DeleteFunc(slices.Clone(whole), drop) }
	return map[string][]string{
		"all of it":                                              whole,
		"trust by SSL_CERT_FILE only":                            only("SSL_CERT_FILE"),
		"trust by REQUESTS_CA_BUNDLE only":                       only("REQUESTS_CA_BUNDLE"),
		"trust by CURL_CA_BUNDLE only":                           only("CURL_CA_BUNDLE"),
		"trust by NODE_EXTRA_CA_CERTS and no NODE_USE_ENV_PROXY": only("NODE_EXTRA_CA_CERTS"),
		"trust by NODE_EXTRA_CA_CERTS with NODE_USE_ENV_PROXY":   only("NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY"),
		"trust by GIT_SSL_CAINFO only":                           only("GIT_SSL_CAINFO"),
		"no JAVA_TOOL_OPTIONS":                                   without(func(n string) bool { return n == "JAVA_TOOL_OPTIONS" }),
		"no proxy":                                               without(isProxy),
	}
}

// What doctor says of a part of the environment is held against what the real
// clients do with it: a client crosses in its session exactly when doctor finds
// nothing wrong with it.
func TestC03DoctorNamesTheClientsThatAPartOfTheEnvironmentBreaks(t *testing.T) {
	root, a := t.TempDir(), newAuthority(t)
	newRepository(t, root, "open.git", map[string][]byte{"file": []byte("content")})
	s := newSite()
	s.mux.Handle("/open.git/", gitHandler(t, root))
	o := startUnwatched(t, &a, "localhost", "127.0.0.1", s)
	e := startEdge(t, a)
	names := slices.Sorted(maps.Keys(e.env(t, sessionName(t))))
	for part, variables := range parts(names) {
		t.Run(part, func(t *testing.T) {
			verdicts := e.doctor(t, pairs(e.env(t, sessionName(t)), variables...))
			for _, c := range askers(t) {
				verdict, checked := verdicts[c.name]
				if !checked {
					t.Errorf("doctor says nothing of %q", c.name)
					continue
				}
				session := "c03-" + strings.ReplaceAll(part+"-"+c.name, " ", "-")
				crossed := e.crosses(t, o, c, strings.ReplaceAll(session, ",", ""), variables)
				if says := verdict.Verdict == "ok"; says != crossed {
					t.Errorf("of %s doctor says %s (%s), but that it crossed is %t", c.name, verdict.Verdict, verdict.Detail, crossed)
				}
				if part == "all of it" && !crossed {
					t.Errorf("%s does not cross with all of the environment", c.name)
				}
			}
		})
	}
}

func TestTheDocsNameEveryClientThatDoctorChecks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	e := startEdge(t, newAuthority(t))
	clients := 0
	for name := range e.doctor(t, pairs(e.env(t, sessionName(t)))) {
		kind, ok := strings.CutPrefix(name, "client ")
		if !ok {
			continue
		}
		clients++
		for word := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !strings.Contains(string(page), word) {
				t.Errorf("docs/clients.md does not name %q of %q", word, kind)
			}
		}
	}
	if clients < 5 {
		t.Errorf("doctor checks only %d clients", clients)
	}
}

// crosses reports whether a client gets through the edge, in its session if it
// is one that sends credentials.
func (e *edge) crosses(t *testing.T, o *origin, c asker, session string, variables []string) bool {
	t.Helper()
	before := len(o.arrived())
	env := pairs(e.env(t, session), variables...)
	if err := command(t, env, append(slices.Clone(c.argv), o.url+c.path)...).Run(); err != nil {
		return false
	}
	through := slices.ContainsFunc(o.arrived()[before:], func(a arrival) bool { return a.via != "" })
	if c.name == "client Java" {
		return through
	}
	return through && e.crossings(t, session) > 0
}

// A finding is one check of doctor's.
type finding struct{ Name, Verdict, Detail string }

// doctor returns what `wayleave doctor --json` finds in an environment, by the
// name of the check. It exits 1 when anything is wrong.
func (e *edge) doctor(t *testing.T, env []string) map[string]finding {
	t.Helper()
	cmd := command(t, env, built.wayleave, "doctor", "--json", "--config", e.config, "--data", e.data)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatalf("wayleave doctor: %v", err)
	}
	var report struct{ Checks []finding }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("wayleave doctor --json printed %q: %v", out, err)
	}
	byName := map[string]finding{}
	for _, f := range report.Checks {
		byName[f.Name] = f
	}
	return byName
}
