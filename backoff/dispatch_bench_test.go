package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// loop runs op in a benchmark and reports the processor time of each.
func loop(b *testing.B, op func(i int) error) {
	b.ReportAllocs()
	before := cpu(b)
	for i := 0; b.Loop(); i++ {
		if err := op(i); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkGoHealthy is what pacing costs a request to a host that nothing binds,
// over files (P37): up to the pass, and from there to the answer.
func BenchmarkGoHealthy(b *testing.B) {
	d := backoff.NewDispatcher(backoff.NewFileStore(b.TempDir(), backoff.FileOptions{}), backoff.Config{})
	r := backoff.Request{Host: host, Budget: d.NewBudget()}
	ctx := b.Context()
	b.Run("pass", func(b *testing.B) {
		loop(b, func(int) error {
			_, err := d.Go(ctx, r)
			return err
		})
	})
	b.Run("whole", func(b *testing.B) {
		loop(b, func(int) error {
			pass, err := d.Go(ctx, r)
			if err != nil {
				return err
			}
			_ = pass.Handed(ctx)
			_ = pass.HeadArrived(ctx, 200)
			_, err = pass.Answered(ctx, backoff.Answer{Status: 200})
			return err
		})
	})
}

// BenchmarkGoPaced is the dispatcher's own part of a request whose turn is now.
func BenchmarkGoPaced(b *testing.B) {
	d := backoff.NewDispatcher(backofftest.NewMemory(backoff.Config{}, nil), backoff.Config{})
	hosts := make([]string, 1<<14) // so that no turn is waited for
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.test", i)
	}
	r := backoff.Request{Delay: backoff.Delay{Honoured: time.Millisecond}, Budget: backoff.NewBudget(time.Hour)}
	ctx := b.Context()
	loop(b, func(i int) error {
		r.Host = hosts[i%len(hosts)]
		pass, err := d.Go(ctx, r)
		if err != nil {
			return err
		}
		_ = pass.Handed(ctx)
		return pass.Failed(ctx)
	})
}
