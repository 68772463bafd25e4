package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A recordedRuling writes crossings as the edge does, ruled on one robots.txt.
type recordedRuling struct {
	data   string
	file   *rulings.Site
	object rulings.Digest
	policy *rulings.Policy
	store  *evidence.Store
	log    *evidence.Log
}

func newRecordedRuling(tb testing.TB, robotsText string) *recordedRuling {
	tb.Helper()
	r := &recordedRuling{data: tb.TempDir(), file: rulings.ParseSite([]byte(robotsText)), policy: rulings.DefaultPolicy()}
	book, err := terms.Open(termsDir(r.data), terms.Options{})
	must := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	must(err)
	r.object, err = book.PutObject([]byte(robotsText))
	must(err)
	_, err = book.PutObject(r.policy.Canonical())
	must(err)
	must(book.Close(tb.Context()))
	r.store, err = evidence.Open(r.data, evidence.Options{})
	must(err)
	r.log, err = r.store.Session("s")
	must(err)
	return r
}

// record rules a request for url and returns its record.
func (r *recordedRuling) record(tb testing.TB, url string) evidence.Record {
	tb.Helper()
	origin, target, err := splitURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	return r.ruled(origin, url, target)
}

func (r *recordedRuling) ruled(origin hostkey.Origin, url, target string) evidence.Record {
	term := rulings.Term{Kind: rulings.TermRobots, URL: origin.String() + "/robots.txt", Status: 200, Outcome: rulings.TermRead,
		Cache: rulings.CacheReused, Object: r.object, FetchedAt: time.Unix(1, 0), ExpiresAt: time.Unix(86401, 0)}
	known := rulings.Terms{Robots: rulings.RobotsTerms{Term: term, Site: r.file}}
	const agent = "crawler/1.0"
	ruling := rulings.Decide(rulings.Request{Method: "GET", Origin: origin, Target: target, UserAgent: agent}, known, r.policy)
	x := &evidence.Crossing{
		Grade: evidence.Mediated, Class: rulings.Source, Outcome: evidence.Delivered, Method: "GET", URL: url, Address: "192.0.2.1:80",
		Client: evidence.Client{Session: "s", Protocol: "HTTP/1.1", Address: "127.0.0.1:4711", UserAgent: agent}, Purposes: r.policy.Purposes,
		Identity: evidence.Identity{ProductTokens: r.policy.Identity.Tokens, UserAgent: agent + " wayleave/1.0"}, PolicyDigest: r.policy.Digest(),
		Ruleset: rulings.Ruleset, RequestedAt: time.Unix(2, 0), Ruled: true, Terms: []rulings.Term{term}, Ruling: &ruling,
	}
	if ruling.Refused() {
		x.Outcome = evidence.Refused
		x.Refusal = evidence.Refusal{Reason: ruling.Reason, Whose: ruling.Reason.Facts().Whose, Stage: ruling.Stage, Detail: ruling.Detail, Term: ruling.Term}
		return evidence.CrossingEnded{Crossing: x}
	}
	x.HTTPStatus, x.HTTPVersion, x.ContentType = 200, "HTTP/1.1", "text/html"
	x.RetrievedHash, x.RetrievedBytes, x.ContentHash, x.ContentBytes = r.object, 4711, r.object, 4711
	x.Delivered = &evidence.Delivery{Bytes: 4711, Complete: evidence.Yes}
	x.Up, x.Down = evidence.Counted(0), evidence.Counted(4711)
	x.Timings = evidence.Timings{Ruling: time.Millisecond, FirstByte: time.Second, Body: time.Second}
	return evidence.CrossingEnded{Crossing: x}
}

// recomputeOne records one ruling and makes it again.
func recomputeOne(t *testing.T, robotsText, url string) evidence.RulingsReport {
	t.Helper()
	r := newRecordedRuling(t, robotsText)
	return r.recompute(t, r.record(t, url))
}

// recompute records rec, which is the log's only one, and makes its ruling again.
func (r *recordedRuling) recompute(t *testing.T, rec evidence.Record) evidence.RulingsReport {
	t.Helper()
	if _, err := r.log.Append(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs, err := evidence.Verify(t.Context(), filepath.Join(r.data, "sessions", "s"), evidence.VerifyOptions{Decide: newRedecider().decide})
	if err != nil || len(logs) != 1 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	return *logs[0].Rulings
}

// benchmarkRecords is how many crossings the log of a benchmark holds.
const benchmarkRecords = 50_000

// benchmarkLog writes a log of crossings, a tenth of them refused.
func benchmarkLog(b *testing.B) (path string, octets int64) {
	r := newRecordedRuling(b, "User-agent: *\nDisallow: /private/\nAllow: /private/press/\nDisallow: /*.pdf$\n")
	batch := make([]evidence.Record, 0, 500)
	for i := range benchmarkRecords {
		url := fmt.Sprintf("https://www.site-%d.test/section/page-%d.html", i%7, i)
		if i%10 == 0 {
			url = fmt.Sprintf("https://www.site.test/private/%d", i)
		}
		if batch = append(batch, r.record(b, url)); len(batch) == cap(batch) {
			if _, err := r.log.Append(context.Background(), batch...); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := r.store.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	path = filepath.Join(r.data, "sessions", "s")
	info, err := os.Stat(filepath.Join(path, "000001.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	return path, info.Size()
}

// BenchmarkVerify is one log, read and checked by one goroutine.
func BenchmarkVerify(b *testing.B) { benchmarkVerify(b, nil) }

// BenchmarkVerifyRulings also makes each of its rulings again.
func BenchmarkVerifyRulings(b *testing.B) { benchmarkVerify(b, newRedecider().decide) }

func benchmarkVerify(b *testing.B, decide evidence.DecideFunc) {
	path, octets := benchmarkLog(b)
	b.SetBytes(octets)
	for b.Loop() {
		logs, err := evidence.Verify(b.Context(), path, evidence.VerifyOptions{Decide: decide})
		if err != nil || logs[0].Verdict != evidence.Sound || decide != nil && logs[0].Rulings.Same != benchmarkRecords {
			b.Fatalf("%v, %+v", err, logs)
		}
	}
	b.ReportMetric(float64(benchmarkRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
