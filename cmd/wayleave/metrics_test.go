package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// storeFaults returns the counts of store faults, without those that are 0.
func storeFaults(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	mustDo(t, err)
	counts := map[string]float64{}
	classes := 0
	for _, f := range families {
		for _, m := range f.Metric {
			classes++
			if n := m.Counter.GetValue(); n > 0 {
				counts[m.Label[0].GetValue()] = n
			}
		}
	}
	if classes != 7 {
		t.Errorf("%d classes", classes)
	}
	return counts
}

func TestA16StoreFaultsAreCountedByTheirClass(t *testing.T) {
	memory := backofftest.NewMemory(backoff.Config{}, time.Now)
	reg := prometheus.NewRegistry()
	store := newCountedStore(memory, reg, slog.New(slog.DiscardHandler))
	ctx, host := t.Context(), "host.test"
	calls := map[string]func() error{
		"Look": func() error { _, _, err := store.Look(ctx, host); return err },
		"Turn": func() error { _, err := store.Turn(ctx, host, time.Second, time.Second); return err },
		"Handed": func() error {
			_, err := store.Handed(ctx, host, backoff.Turn{At: time.Now()}, time.Second, 0)
			return err
		},
		"GiveBack": func() error { return store.GiveBack(ctx, host, backoff.Turn{At: time.Now()}) },
		"Reserve": func() error {
			_, err := store.Reserve(ctx, host, backoff.State{Host: host}, backoff.Sender{ID: "x"}, time.Second)
			return err
		},
		"Answered": func() error { _, err := store.Answered(ctx, host, backoff.Answer{Status: 503}); return err },
		"Release":  func() error { return store.Release(ctx, host, "x") },
	}
	for name, call := range calls {
		if err := call(); err != nil && !errors.Is(err, backoff.ErrLookAgain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(map[string]float64{}, storeFaults(t, reg)); diff != "" {
		t.Errorf("what is no fault is counted: %s", diff)
	}
	want := map[string]float64{}
	for fault, class := range faultClasses {
		memory.Fail(&backoff.StoreError{Fault: fault})
		for name, call := range calls {
			if err := call(); err == nil {
				t.Errorf("%s hides %s", name, class)
			}
			want[class]++
		}
	}
	memory.Fail(&backoff.StoreError{Fault: backoff.Fault(99)})
	_ = calls["Look"]()
	want["unknown"]++
	memory.Fail(fmt.Errorf("ended: %w", context.Canceled)) // no fault of the store
	_ = calls["Look"]()
	if diff := cmp.Diff(want, storeFaults(t, reg)); diff != "" {
		t.Error(diff)
	}
	memory.Fail(nil)
	for range store.(backoff.Lister).Hosts(ctx) {
		t.Error("a store that cannot list has hosts")
	}
	if got := newCountedStore(memory, nil, nil); got != backoff.Store(memory) {
		t.Error("without a registry the store is wrapped")
	}
}

// That a server is away is said once, and once that it is back.
func TestP47_AServerThatGoesAwayAndComesBackIsLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	memory := backofftest.NewMemory(backoff.Config{}, time.Now)
	store := newCountedStore(memory, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&logged, nil)))
	away := &backoff.StoreError{Fault: backoff.StateUnreadable, Away: true}
	for _, fault := range []error{nil, away, away, &backoff.StoreError{Fault: backoff.StateUnreadable}, context.Canceled, away, nil, nil} {
		memory.Fail(fault)
		_, _, _ = store.Look(t.Context(), "host.test")
	}
	lines := strings.Split(strings.TrimSpace(logged.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN msg=\"the server that keeps the pace cannot be reached") ||
		!strings.Contains(lines[1], `level=INFO msg="the server that keeps the pace is back"`) {
		t.Errorf("logged:\n%s", logged.String())
	}
}
