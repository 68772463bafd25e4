package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestA19WaitsInWords(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 7, 0, time.Local)
	slow := backoff.HostWait{Host: "slow.example", Count: 1, Until: at, Cause: backoff.ReasonCrawlDelay}
	failed := backoff.HostWait{Host: "failed.example", Count: 3, Cause: backoff.ReasonBackoff}
	tests := map[string]struct {
		waits []backoff.HostWait
		want  string
	}{
		"nobody waits":              {nil, ""},
		"a host states a delay":     {[]backoff.HostWait{slow}, "wayleave: waiting for slow.example until 12:00:07 (its Crawl-delay)"},
		"several for another's end": {[]backoff.HostWait{failed}, "wayleave: waiting for failed.example (it failed; 3 requests)"},
		"more hosts than are named": {
			[]backoff.HostWait{slow, failed, slow, failed, slow},
			"wayleave: waiting for slow.example until 12:00:07 (its Crawl-delay), failed.example (it failed; 3 requests), slow.example until 12:00:07 (its Crawl-delay), 2 more",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := waitsInWords(tt.waits); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestA19TheLineIsWrittenOnceASecondAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan string, 10)
		line := &terminalLine{to: writerFunc(func(p []byte) (int, error) { written <- string(p); return len(p), nil }), width: func() int { return 60 }}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		calls := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			line.follow(ctx, func(context.Context) ([]backoff.HostWait, error) {
				calls++
				switch calls {
				case 1, 4:
					return nil, nil
				case 5:
					return nil, errors.New("the edge is gone")
				}
				return []backoff.HostWait{{Host: fmt.Sprintf("%d.example", calls), Count: 1, Cause: backoff.ReasonBackoff}}, nil
			})
		}()
		for _, step := range []struct{ want, what string }{
			{"", "nobody waits, so nothing is written"},
			{eraseLine + "wayleave: waiting for 2.example (it failed)", "somebody waits"},
			{eraseLine + "wayleave: waiting for 3.example (it failed)", "the line is written anew"},
			{eraseLine, "nobody waits any more"},
			{"", "what cannot be learnt is not told"},
			{eraseLine + "wayleave: waiting for 6.example (it failed)", "somebody waits again"},
		} {
			time.Sleep(waitsEvery)
			synctest.Wait()
			if got := all(written); got != step.want {
				t.Errorf("%s: %q, want %q", step.what, got, step.want)
			}
		}
		cancel()
		<-done
		if got := all(written); got != eraseLine {
			t.Errorf("at the end %q is written, want the line removed", got)
		}
	})
}

// A writerFunc is an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// all returns what was written until now.
func all(written chan string) (text string) {
	for {
		select {
		case more := <-written:
			text += more
		default:
			return text
		}
	}
}

func TestA19ALineIsNeverLongerThanTheTerminalIsWide(t *testing.T) {
	long := strings.Repeat("x", 200)
	for width, want := range map[int]int{80: 79, 2: 1, 0: 200, 201: 200, 400: 200} {
		var out bytes.Buffer
		line := &terminalLine{to: &out, width: func() int { return width }}
		line.write(long)
		if got := out.Len() - len(eraseLine); got != want {
			t.Errorf("on %d columns %d octets are written, want %d", width, got, want)
		}
	}
}

func TestA19NothingIsShownWhereStderrIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &cli{getenv: func(string) string { return "" }, stderr: &out}
	if _, ok := c.terminalLine(); ok {
		t.Error("a buffer is taken for a terminal")
	}
	end := c.showWaits(func(context.Context) ([]backoff.HostWait, error) {
		t.Error("somebody asks what is waited for")
		return nil, nil
	})
	end()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
