package backoff_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// cpu returns the processor time this process has used. On a machine with other
// work it tells more than the clock of what costs no disk.
func cpu(b *testing.B) time.Duration {
	var r syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkLookHealthy is what every request to a healthy host pays twice: one
// open(2) that fails. Aim: 3 microseconds.
func BenchmarkLookHealthy(b *testing.B) {
	for name, make := range map[string]bool{"directory": true, "no directory": false} {
		b.Run(name, func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "backoff")
			if make {
				must(b, os.Mkdir(dir, 0o700))
			}
			store, ctx := backoff.NewFileStore(dir, backoff.FileOptions{}), context.Background()
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				if s, _, err := store.Look(ctx, "www.example.test"); err != nil || !s.Empty() {
					b.Fatal(s, err)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkAnsweredHealthy is what a good answer of a healthy host costs.
func BenchmarkAnsweredHealthy(b *testing.B) {
	store, ctx := backoff.NewFileStore(b.TempDir(), backoff.FileOptions{}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Answered(ctx, "www.example.test", backoff.Answer{Status: 200}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookPaced(b *testing.B) {
	dir := b.TempDir()
	plantText(b, dir, host, plain)
	store, ctx := backoff.NewFileStore(dir, backoff.FileOptions{}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := store.Look(ctx, host); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurn compares taking a turn with what it is bound by, writing as many
// octets behind a file and one fsync of it: fsyncs/op is how many of these a turn
// takes, by the medians, since a disk that others use too now and then takes a
// hundred times as long for either. Aim: 2.5.
func BenchmarkTurn(b *testing.B) {
	dir := b.TempDir()
	plantText(b, dir, host, plain)
	clock := newClock()
	store, ctx := backoff.NewFileStore(dir, backoff.FileOptions{Now: clock.now}), context.Background()
	f, err := os.Create(filepath.Join(dir, "bare"))
	must(b, err)
	defer f.Close()
	var bare, turns []time.Duration
	for b.Loop() {
		clock.advance(time.Second)
		start := time.Now()
		if _, err := f.WriteString(plain); err != nil {
			b.Fatal(err)
		}
		must(b, f.Sync())
		middle := time.Now()
		if _, err := store.Turn(ctx, host, time.Second, time.Minute); err != nil {
			b.Fatal(err)
		}
		bare, turns = append(bare, middle.Sub(start)), append(turns, time.Since(middle))
	}
	b.ReportMetric(median(bare), "bare-ns/op")
	b.ReportMetric(median(turns), "turn-ns/op")
	b.ReportMetric(median(turns)/median(bare), "fsyncs/op")
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

func BenchmarkReadRetryAfter(b *testing.B) {
	for name, line := range map[string]string{"seconds": "120", "date": "Mon, 30 Nov 2026 12:01:00 GMT", "junk": "Mon, 30 Nov 2026 12:01:00 UTC"} {
		b.Run(name, func(b *testing.B) {
			lines, now := []string{line}, after(0)
			b.ReportAllocs()
			for b.Loop() {
				backoff.ReadRetryAfter(lines, now)
			}
		})
	}
}
