package certs_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/wayleave/wayleave/certs"
)

// The first request to a host pays for this.
func BenchmarkLeafMint(b *testing.B) {
	a := open(b, b.TempDir(), certs.Options{})
	i := 0
	for b.Loop() {
		i++
		if _, err := a.Leaf("n" + strconv.Itoa(i) + ".example.test"); err != nil {
			b.Fatal(err)
		}
	}
}

// Every later handshake pays for this: one host asked for by all cores.
func BenchmarkLeafHit(b *testing.B) {
	a := open(b, b.TempDir(), certs.Options{})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := a.Leaf("www.example.test"); err != nil {
				b.Error(err)
			}
		}
	})
}

// The same with many hosts, which spread over the shards.
func BenchmarkLeafHitManyHosts(b *testing.B) {
	a := open(b, b.TempDir(), certs.Options{})
	hosts := make([]string, 256)
	for i := range hosts {
		hosts[i] = "n" + strconv.Itoa(i) + ".example.test"
	}
	var next atomic.Uint32
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for i := next.Add(97); p.Next(); i++ {
			if _, err := a.Leaf(hosts[i%256]); err != nil {
				b.Error(err)
			}
		}
	})
}
