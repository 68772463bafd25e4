package backoff_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

func TestP30_P33_WhatIsTold(t *testing.T) {
	wait := 599001 * time.Millisecond
	end := after(wait)
	mine := backoff.Next{Step: backoff.StepRefuse, Wait: wait, Status: 429, By: "me"}
	dated := mine
	dated.Date = true
	held := backoff.Next{Step: backoff.StepRefuse, Wait: 29 * time.Second, Held: true, By: "me"}
	delay := backoff.Refusal{Reason: backoff.ReasonCrawlDelay, Wait: 44 * time.Second, Delay: 14500 * time.Millisecond}
	for _, tt := range []struct {
		name    string
		refusal backoff.Refusal
		shared  bool
		want    backoff.Told
	}{
		{"single: the host's status and end", mine.Refusal("x"), false, backoff.Told{Status: 429, RetryAfter: 600, RetryAt: end, Timing: true, HostStatus: 429}},
		{"single: a delay", delay, false, backoff.Told{Status: 429, RetryAfter: 44, RetryAt: after(44 * time.Second), Timing: true}},
		{"P31: a reservation, no status", held.Refusal("x"), false, backoff.Told{Status: 429, RetryAfter: 29, RetryAt: after(29 * time.Second), Timing: true, UnderWay: true}},
		{"P30: at least a second", backoff.Refusal{Reason: backoff.ReasonCrawlDelay}, false, backoff.Told{Status: 429, RetryAfter: 1, RetryAt: after(0), Timing: true}},
		{"shared: one's own in full", mine.Refusal("me"), true, backoff.Told{Status: 429, RetryAfter: 600, RetryAt: end, Timing: true, HostStatus: 429}},
		{"shared: another's", mine.Refusal("you"), true, backoff.Told{Status: 429, RetryAfter: 60}},
		{"shared: another's by date", dated.Refusal("you"), true, backoff.Told{Status: 429, RetryAfter: 600, RetryAt: end}},
		{"shared: another's reservation", held.Refusal("you"), true, backoff.Told{Status: 429, RetryAfter: 60}},
		{"shared: one's own reservation", held.Refusal("me"), true, backoff.Told{Status: 429, RetryAfter: 29, RetryAt: after(29 * time.Second), Timing: true, UnderWay: true}},
		{"shared: a delay", delay, true, backoff.Told{Status: 429, RetryAfter: 15}},
		{"shared: nobody's is not the unknown tenant's", backoff.Next{Wait: wait, Status: 503}.Refusal(""), true, backoff.Told{Status: 429, RetryAfter: 60}},
		{"P32: the store", backoff.Refusal{Reason: backoff.ReasonPacingStore, Status: 429, Wait: wait}, false, backoff.Told{Status: 503, RetryAfter: 30}},
		{"no reason is the edge's fault", backoff.Refusal{Wait: wait, Own: true}, false, backoff.Told{Status: 503, RetryAfter: 30}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, backoff.Tell(tt.refusal, after(0), tt.shared)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}
