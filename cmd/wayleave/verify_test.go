package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wayleave/wayleave/evidence"
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
