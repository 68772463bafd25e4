//go:build valkey

package valkey

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// BenchmarkTurn takes turns on many hosts at once, as edges that share a server
// do. Aim: 20,000 a second over loopback.
func BenchmarkTurn(b *testing.B) {
	store := open(b, startServer(b).url, backoff.Config{})
	hosts := make([]string, 4096)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.test", i)
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			parallel(b, store, callers, func(i int) error {
				_, err := store.Turn(b.Context(), hosts[i%len(hosts)], time.Millisecond, time.Hour)
				return err
			})
		})
	}
}

// BenchmarkLook looks at a host that nothing is known of.
func BenchmarkLook(b *testing.B) {
	store := open(b, startServer(b).url, backoff.Config{})
	parallel(b, store, 64, func(int) error {
		_, _, err := store.Look(b.Context(), "healthy.test")
		return err
	})
}

// parallel runs op with so many callers for each processor. Beside what is done a
// second it reports the processor time of the two processes, which tells more on
// a machine with other work.
func parallel(b *testing.B, s *Store, callers int, op func(i int) error) {
	b.SetParallelism(callers)
	b.ReportAllocs()
	ours, theirs := ownTime(b), serverTime(b, s)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := op(int(n.Add(1))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per-s")
	b.ReportMetric(float64(ownTime(b)-ours)/float64(b.N), "edge-cpu-ns/op")
	b.ReportMetric(float64(serverTime(b, s)-theirs)/float64(b.N), "server-cpu-ns/op")
}

func ownTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func serverTime(b *testing.B, s *Store) (t time.Duration) {
	for line := range strings.Lines(s.client.Info(b.Context(), "cpu").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			must(b, err)
			t += time.Duration(seconds * float64(time.Second))
		}
	}
	return t
}
