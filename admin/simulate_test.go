package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// wholeSimulation has every member, but where the draft holds the word strickt.
func wholeSimulation(_ context.Context, r SimulateRequest) (Simulation, []PolicyFault, error) {
	if strings.Contains(string(r.Draft), "strickt") {
		return Simulation{}, someFaults, nil
	}
	change := Change{Count: 2, AnswerUnseen: 1, Reasons: map[rulings.Reason]int{rulings.HostDenied: 2}, Examples: []Example{
		{Crossing: "agent-1/7", URL: "https://a.test/", Was: []rulings.Reason{}, Reasons: []rulings.Reason{rulings.HostDenied}},
	}}
	return Simulation{
		PolicyDigest: wholePolicy().Digest, Crossings: 9, NewlyRefused: change, NewlyCarried: change, NewlyAdmitted: change,
		Unchanged: 2, NotSimulated: map[string]int{"terms_not_recorded": 1}, Next: "cursor", Faulty: []string{"damaged"},
	}, nil, nil
}

func TestA12AQuestionIsPassedOnAsItIs(t *testing.T) {
	var got *SimulateRequest
	w := newWorld(t, func(o *Options) {
		o.Simulate = func(_ context.Context, r SimulateRequest) (Simulation, []PolicyFault, error) {
			got = &r
			return Simulation{}, nil, nil
		}
	})
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for body, want := range map[string]SimulateRequest{
		`{}`:                           {Most: defaultSimulated},
		`{"policy":{"mode":"strict"}}`: {Draft: []byte(`{"mode":"strict"}`), Most: defaultSimulated},
		`{"policy":"mode: strict"}`:    {Draft: []byte(`"mode: strict"`), Most: defaultSimulated},
		`{"session":"a","from":"2026-03-04T05:06:07Z","to":"2026-03-04T05:06:07Z","limit":100000,"cursor":"c"}`: {
			Over: evidence.Query{Session: "a", From: at, To: at, Cursor: "c"}, Most: maxSimulated},
	} {
		got = nil
		if a := w.ask(http.MethodPost, "/v1/simulate", body, nil); a.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, %s", body, a.StatusCode, a.body)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	for _, body := range []string{
		`{"policy":5}`, `{"policy":null}`, `{"session":"../s"}`, `{"from":"today"}`, `{"to":"2026"}`, `{"limit":0}`, `{"limit":100001}`, `{"limit":1.5}`, `{"host":"a.test"}`, `[]`,
	} {
		got = nil
		w.ask(http.MethodPost, "/v1/simulate", body, nil).isProblem(t, http.StatusBadRequest)
		if got != nil {
			t.Errorf("%s was passed on", body)
		}
	}
}

func TestA12WhatCannotBeSimulatedIsAProblem(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(context.Context, SimulateRequest) (Simulation, []PolicyFault, error)
		status int
	}{
		{"a draft that does not load", func(context.Context, SimulateRequest) (Simulation, []PolicyFault, error) {
			return Simulation{}, someFaults, nil
		}, http.StatusUnprocessableEntity},
		{"a cursor of no page", func(context.Context, SimulateRequest) (Simulation, []PolicyFault, error) {
			return Simulation{}, nil, evidence.ErrQuery
		}, http.StatusBadRequest},
		{"one that takes too long", func(context.Context, SimulateRequest) (Simulation, []PolicyFault, error) {
			return Simulation{}, nil, context.DeadlineExceeded
		}, http.StatusServiceUnavailable},
		{"a fault of ours", func(context.Context, SimulateRequest) (Simulation, []PolicyFault, error) {
			return Simulation{}, nil, errors.New("open /var/lib/wayleave: gone")
		}, http.StatusInternalServerError},
		{"an edge that cannot", nil, http.StatusServiceUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Simulate = c.answer })
			a := w.ask(http.MethodPost, "/v1/simulate", `{"policy":{}}`, nil)
			if a.StatusCode != c.status || a.Header.Get("Content-Type") != "application/problem+json" || strings.Contains(string(a.body), "/var") {
				t.Errorf("status %d: %s", a.StatusCode, a.body)
			}
		})
	}
}
