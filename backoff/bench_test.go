package backoff_test

import (
	"context"
	"os"
	"path/filepath"
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
	plantText(b, dir, host, full)
	store, ctx := backoff.NewFileStore(dir, backoff.FileOptions{}), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := store.Look(ctx, host); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurn compares taking a turn with what it is bound by, one fsync of as
// many octets: fsyncs/op is how many of these it takes. Aim: 2.5.
func BenchmarkTurn(b *testing.B) {
	dir := b.TempDir()
	plantText(b, dir, host, full)
	clock := newClock()
	store, ctx := backoff.NewFileStore(dir, backoff.FileOptions{Now: clock.now}), context.Background()
	f, err := os.Create(filepath.Join(dir, "bare"))
	must(b, err)
	defer f.Close()
	var bare, turns time.Duration
	for b.Loop() {
		clock.advance(time.Second)
		start := time.Now()
		if _, err := f.WriteString(full); err != nil {
			b.Fatal(err)
		}
		must(b, f.Sync())
		middle := time.Now()
		if _, err := store.Turn(ctx, host, time.Second, time.Minute); err != nil {
			b.Fatal(err)
		}
		bare, turns = bare+middle.Sub(start), turns+time.Since(middle)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64((bare / n).Nanoseconds()), "bare-ns/op")
	b.ReportMetric(float64((turns / n).Nanoseconds()), "turn-ns/op")
	b.ReportMetric(float64(turns)/float64(bare), "fsyncs/op")
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
