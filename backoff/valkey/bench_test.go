//go:build valkey

package valkey

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// BenchmarkTurn takes turns on many hosts at once, as edges that share a server
// do.
func BenchmarkTurn(b *testing.B) {
	store := open(b, startServer(b).url, backoff.Config{})
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			hosts := make([]string, 4096)
			for i := range hosts {
				hosts[i] = fmt.Sprintf("host%d.test", i)
			}
			var next atomic.Uint32
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					host := hosts[next.Add(1)%uint32(len(hosts))]
					if _, err := store.Turn(b.Context(), host, time.Millisecond, time.Hour); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
		})
	}
}

// BenchmarkLook looks at a host that nothing is known of.
func BenchmarkLook(b *testing.B) {
	store := open(b, startServer(b).url, backoff.Config{})
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := store.Look(b.Context(), "healthy.test"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
