package evidence

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// typical is a delivered crossing as most are: one robots.txt read, one token.
func typical() *Crossing {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)
	return &Crossing{
		Grade: Mediated, Class: rulings.Source, Outcome: Delivered,
		Client: Client{Session: "agent-7", Protocol: "h2", Address: "127.0.0.1:53124", UserAgent: "research-agent/2.1"},
		Method: "GET", URL: "https://news.example.com/2026/03/01/a-long-story-about-something",
		Address:      "203.0.113.7:443",
		Purposes:     []rulings.Purpose{rulings.AIInput},
		Identity:     Identity{ProductTokens: []string{"wayleave"}, UserAgent: "research-agent/2.1 wayleave/0.1"},
		PolicyDigest: rulings.Digest{1}, Ruleset: rulings.Ruleset,
		RequestedAt: at, HTTPStatus: 200, HTTPVersion: "HTTP/2.0",
		Ruled: true,
		Terms: []rulings.Term{{Kind: rulings.TermRobots, URL: "https://news.example.com/robots.txt", Status: 200,
			Outcome: rulings.TermRead, Cache: rulings.CacheReused, FetchedAt: at, ExpiresAt: at.Add(time.Hour), Object: rulings.Digest{2}}},
		Ruling:        &rulings.Ruling{Robots: []robots.Decision{{Token: "wayleave", Group: "*", Wildcard: true, Rule: "Allow: /2026/", Line: 12, Allowed: true}}},
		RetrievedHash: rulings.Digest{3}, RetrievedBytes: 18220, ContentHash: rulings.Digest{4}, ContentBytes: 61000,
		ContentType: "text/html; charset=utf-8", ContentCoding: "br",
		Delivered: &Delivery{Bytes: 18220, Complete: Yes}, Up: Counted(0), Down: Counted(18220),
		Timings: Timings{Ruling: 12 * time.Microsecond, FirstByte: 41 * time.Millisecond, Body: 3 * time.Millisecond},
	}
}

func benchStore(b *testing.B) *Log {
	b.Helper()
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(context.Background()) })
	l, err := s.Session("bench")
	if err == nil {
		_, err = l.Append(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkAppend64 is how many records a second are durable while 64 crossings
// wait at a time.
func BenchmarkAppend64(b *testing.B) {
	l := benchStore(b)
	var n atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			c := typical()
			for n.Add(1) <= int64(b.N) {
				if _, err := l.Append(context.Background(), CrossingEnded{c}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkAppendLone is one record at a time; compare with BenchmarkBareFsync.
func BenchmarkAppendLone(b *testing.B) {
	l := benchStore(b)
	c := typical()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(context.Background(), CrossingEnded{c}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareFsync is what the disk alone takes for a record.
func BenchmarkBareFsync(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	record := make([]byte, 1600)
	for b.Loop() {
		f.Write(record)
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := &entry{enc: encoder{edge: NewEdgeID(time.Now()), redact: newRedactor(nil, nil, nil)}}
	c := typical()
	b.ReportAllocs()
	for b.Loop() {
		e.enc.b, e.records = e.enc.b[:0], e.records[:0]
		if err := e.add(CrossingEnded{c}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.enc.b)), "octets")
}

// BenchmarkSegmentScan reads a segment as sealing does, most of it without the
// lock.
func BenchmarkSegmentScan(b *testing.B) {
	line := `{"seq":11,"timestamp":"2026-03-01T12:00:00.000Z","event":"crossing_mediated","payload":{"edge":"e","grade":"mediated","url":"https://h/` +
		strings.Repeat("x", 600) + `"}}` + "\n"
	octets := strings.NewReader(strings.Repeat(line, (8<<20)/len(line)))
	b.SetBytes(octets.Size())
	for b.Loop() {
		if err := newSegmentScan(1, "").read(octets, octets.Size()); err != nil {
			b.Fatal(err)
		}
	}
}
