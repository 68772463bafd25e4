package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// recomputeAll makes every ruling of every log below a script's directory again:
// each crossing of the end-to-end suite recomputes as same (E82), but for those
// whose record has a value replaced that may have mattered.
func recomputeAll(env *testscript.Env) {
	if filepath.Base(env.WorkDir) == "script-verify" {
		return // its logs are forged on purpose
	}
	err := filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "sessions" {
			return err
		}
		logs, err := evidence.Verify(context.Background(), filepath.Dir(path), evidence.VerifyOptions{Decide: newRedecider().decide})
		if errors.Is(err, evidence.ErrNoLog) {
			return nil
		}
		for _, l := range logs {
			if n := l.Rulings; n.Different > 0 || n.NotRecomputed > n.Causes["url_redacted"] {
				env.T().Log(l.Log, "has rulings that do not recompute:", n.Different, "different,", n.NotRecomputed, "not recomputable", l.Faults, l.Doubts)
				env.T().FailNow()
			}
		}
		return err
	})
	if err != nil {
		env.T().Log("verifying the logs of the script:", err)
		env.T().FailNow()
	}
}

func TestE82WhatHangsOnAReplacedValueIsNotRecomputable(t *testing.T) {
	for _, c := range []struct {
		name, rules, query string
		same               int
	}{
		{"no rule reaches into the query", "Disallow: /private/", "?token=hunter2", 1},
		{"a rule reads the value", "Disallow: /page?token=a", "?token=hunter2", 0},
		{"a fragment is never sent", "Disallow: /page?token=a", "#token=hunter2", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := recomputeOne(t, "User-agent: *\n"+c.rules+"\n", "http://a.test/page"+c.query)
			if got.Same != c.same || got.Different != 0 || got.NotRecomputed != 1-c.same {
				t.Errorf("%+v, want %d same and the rest not recomputable", got, c.same)
			}
			if c.same == 0 && got.Causes["url_redacted"] != 1 {
				t.Errorf("causes %v", got.Causes)
			}
		})
	}
}

// A tunnel is ruled by the operator's policy alone, and what that refused is ruled
// again though no request was read in it.
func TestE82ATunnelThatTheOperatorRefusedIsRuledAgain(t *testing.T) {
	policy, faults := rulings.NewPolicy(rulings.PolicyFile{Mode: "strict", Services: []string{"pinned.test", "denied.test"},
		Tunnels: []string{"pinned.test", "denied.test"}, Hosts: rulings.HostsFile{Deny: []string{"denied.test"}}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	same, differs, beside := evidence.RulingsReport{Same: 1}, evidence.RulingsReport{Different: 1}, evidence.RulingsReport{Beside: 1}
	for _, c := range []struct {
		name, authority string
		class           rulings.Class
		policy          rulings.Digest
		reason          rulings.Reason
		want            evidence.RulingsReport
	}{
		{"a denied host", "denied.test:443", rulings.Service, policy.Digest(), rulings.HostDenied, same},
		{"a denied host, for another reason", "denied.test:443", rulings.Service, policy.Digest(), rulings.HostNotAllowed, differs},
		{"a host that is let through", "pinned.test:443", rulings.Service, policy.Digest(), rulings.HostDenied, differs},
		{"a host that is let through, and its address is not", "pinned.test:443", rulings.Service, policy.Digest(), rulings.PrivateAddress, beside},
		{"a listed host at another port", "pinned.test:9", rulings.Service, policy.Digest(), rulings.TunnelNotListed, beside},
		{"a host that is not listed", "site.test:443", rulings.Source, policy.Digest(), rulings.TunnelNotListed, same},
		{"no policy", "site.test:443", rulings.Source, rulings.Digest{}, rulings.PolicyUnavailable, same},
		{"no policy, for another reason", "site.test:443", rulings.Source, rulings.Digest{}, rulings.TunnelNotListed, differs},
		{"one that was not refused", "site.test:443", rulings.Source, policy.Digest(), "", beside},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecordedRuling(t, "")
			book, err := terms.Open(termsDir(r.data), terms.Options{})
			if err == nil {
				_, err = book.PutObject(policy.Canonical())
			}
			if err != nil || book.Close(t.Context()) != nil {
				t.Fatal(err)
			}
			x := &evidence.Crossing{Grade: evidence.Mediated, Class: c.class, Outcome: evidence.Abandoned, Authority: c.authority, Ruleset: rulings.Ruleset,
				Client: evidence.Client{Session: "s", Protocol: "tunnel"}, PolicyDigest: c.policy}
			if c.reason != "" {
				x.Outcome = evidence.Refused
				x.Refusal = evidence.Refusal{Reason: c.reason, Whose: c.reason.Facts().Whose, Stage: rulings.StageBefore, Detail: "a reason"}
			}
			got := r.recompute(t, evidence.CrossingEnded{Crossing: x})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be ruled was turned away before its terms were looked up, and of that
// there is nothing to make again (E13).
func TestE82ARequestThatWasTurnedAwayIsNoRuling(t *testing.T) {
	for _, c := range []struct {
		reason rulings.Reason
		want   evidence.RulingsReport
	}{
		{rulings.RequestInvalid, evidence.RulingsReport{Beside: 1}},
		{rulings.AuthorityMismatch, evidence.RulingsReport{Beside: 1}},
		{rulings.Loop, evidence.RulingsReport{Beside: 1}},
		{rulings.RobotsDisallow, evidence.RulingsReport{Different: 1}},
	} {
		r := newRecordedRuling(t, "")
		got := r.recompute(t, evidence.CrossingEnded{Crossing: &evidence.Crossing{
			Grade: evidence.Mediated, Class: rulings.Source, Outcome: evidence.Refused, Method: "OPTIONS", URL: "http://a.test/page",
			Client: evidence.Client{Session: "s", Protocol: "HTTP/1.1"}, PolicyDigest: r.policy.Digest(), Ruleset: rulings.Ruleset,
			Refusal: evidence.Refusal{Reason: c.reason, Whose: c.reason.Facts().Whose, Stage: rulings.StageBefore, Detail: "a reason"},
		}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
