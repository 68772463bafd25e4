package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/durable"
)

// A goldenLog is a log written by hand, line by line, so that one thing at a
// time can be wrong with it.
type goldenLog struct {
	data  string
	lines []string
}

const (
	goldenEdge   = "20260301T120000Z-0123456789abcdef"
	goldenObject = "User-agent: *\nDisallow: /private/\n"
	goldenPolicy = `{"format":"wayleave-policy/1"}`
)

func goldenRecord(seq int, event, payload string) string {
	return fmt.Sprintf(`{"seq":%d,"timestamp":"2026-03-01T12:00:00.%03dZ","event":%q,"payload":{"edge":%q%s}}`, seq, seq, event, goldenEdge, payload)
}

func digestText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newGoldenLog returns a log with nothing wrong: two crossings, one of them
// opened and undelivered, a refusal, and a probe.
func newGoldenLog(t *testing.T) *goldenLog {
	t.Helper()
	g := &goldenLog{data: t.TempDir()}
	object, policy := digestText(goldenObject), digestText(goldenPolicy)
	for _, body := range []string{goldenObject, goldenPolicy} {
		writeFile(t, g.object(digestText(body)), body)
	}
	crossing := `,"grade":"mediated","class":"source","url":"http://a.test/","policy_digest":"` + policy + `"`
	g.lines = []string{
		goldenRecord(1, EventEdgeStarted, `,"session":"s"`),
		goldenRecord(2, EventTermsProbed, `,"kind":"robots","object":"`+object+`"`),
		goldenRecord(3, EventCrossingMediated, crossing+`,"outcome":"delivered","declarations":{"terms":[{"kind":"robots","object":"`+object+`"}]}`),
		goldenRecord(4, EventCrossingOpened, crossing),
		goldenRecord(5, EventCrossingMediated, crossing+`,"outcome":"delivered","opened":4`),
		goldenRecord(6, EventCrossingUndelivered, `,"crossing":4,"bytes":3`),
		goldenRecord(7, EventCrossingRefused, crossing+`,"outcome":"refused","refusal":{"reason":"robots_disallow","term":{"object":"`+object+`","line":2}}`),
		goldenRecord(8, EventEdgeStopped, `,"appended":6,"lost":0`),
	}
	return g
}

func (g *goldenLog) object(digest string) string {
	return filepath.Join(g.data, "terms", "objects", strings.TrimPrefix(digest, "sha256:"))
}

func (g *goldenLog) segment(n int) string {
	return filepath.Join(g.data, "sessions", "s", segmentName(n))
}

func (g *goldenLog) text() string { return strings.Join(g.lines, "\n") + "\n" }

// replace changes what stands once in line n, counted from 1.
func (g *goldenLog) replace(t *testing.T, n int, old, with string) {
	t.Helper()
	if strings.Count(g.lines[n-1], old) != 1 {
		t.Fatalf("line %d does not hold %q once", n, old)
	}
	g.lines[n-1] = strings.Replace(g.lines[n-1], old, with, 1)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// verifyOne verifies path, which has one log.
func verifyOne(t *testing.T, path string) LogReport {
	t.Helper()
	logs, err := Verify(t.Context(), path, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 {
		t.Fatalf("%d logs, want 1", len(logs))
	}
	return logs[0]
}

func TestE80AGoldenLogIsSound(t *testing.T) {
	g := newGoldenLog(t)
	writeFile(t, g.segment(1), g.text())
	for _, path := range []string{g.data, filepath.Dir(g.segment(1)), g.segment(1)} {
		r := verifyOne(t, path)
		if r.Verdict != Sound || r.FirstFault() != nil {
			t.Errorf("%s: %s, %+v", path, r.Verdict, r.FirstFault())
		}
		if r.Records != 8 || r.Crossings[Mediated][Delivered] != 2 || r.Crossings[Mediated][Refused] != 1 {
			t.Errorf("%s: counted %+v", path, r)
		}
	}
}

func TestE80E81EachFaultHasItsVerdictAndItsPlace(t *testing.T) {
	type change func(t *testing.T, g *goldenLog)
	replace := func(line int, old, with string) change {
		return func(t *testing.T, g *goldenLog) { g.replace(t, line, old, with) }
	}
	for _, c := range []struct {
		name   string
		change change
		want   Verdict
		line   int    // of the first fault; 0: it is about the log
		what   string // is in it
	}{
		{"a line that is no record", replace(3, `{"seq":3`, `{"seq:3`), Unsound, 3, "not JSON"},
		{"a member named twice", replace(3, `"seq":3`, `"seq":3,"seq":3`), Unsound, 3, "named twice"},
		{"a record taken out", func(_ *testing.T, g *goldenLog) { g.lines = append(g.lines[:2], g.lines[3:]...) }, Unsound, 7, "had appended 6"},
		{"a record put in twice", func(_ *testing.T, g *goldenLog) { g.lines[1] = g.lines[2] }, Unsound, 3, "does not rise"},
		{"records changed about", func(_ *testing.T, g *goldenLog) { g.lines[1], g.lines[2] = g.lines[2], g.lines[1] }, Unsound, 3, "does not rise"},
		{"an empty line", func(_ *testing.T, g *goldenLog) { g.lines[1] += "\n" }, Unsound, 3, "empty line"},
		{"a byte order mark", replace(1, `{"seq":1`, "\ufeff"+`{"seq":1`), Unsound, 1, "byte order mark"},
		{"CRLF", func(_ *testing.T, g *goldenLog) { g.lines = strings.Split(strings.Join(g.lines, "\r\n"), "\n") }, Unsound, 1, "carriage return"},
		{"opened names no crossing", replace(5, `"opened":4`, `"opened":3`), Unsound, 5, "has ended before"},
		{"opened names what is not there", replace(5, `"opened":4`, `"opened":99`), Unsound, 5, "opened names 99"},
		{"a crossing ends twice", replace(7, `"outcome"`, `"opened":4,"outcome"`), Unsound, 7, "has ended before"},
		{"undelivered names no crossing", replace(6, `"crossing":4`, `"crossing":2`), Unsound, 6, "crossing 2"},
		{"a processor that is not there", replace(7, `"outcome"`, `"processors":[2],"outcome"`), Unsound, 7, "processors names 2"},
		{"a record outside of a window", replace(1, EventEdgeStarted, "edge_startled"), Unsound, 1, "has not begun"},
		{"another session's log", replace(1, `"session":"s"`, `"session":"S"`), Unsound, 1, "another session"},
		{"a tear without a gap", func(_ *testing.T, g *goldenLog) { g.lines[7] = g.lines[7][:20] + "\x00" }, CouldNotTell, 8, "cut short"},
		{"an edge that did not stop", func(_ *testing.T, g *goldenLog) { g.lines = g.lines[:7] }, CouldNotTell, 0, "neither stopped"},
		{"a crossing that did not end", func(_ *testing.T, g *goldenLog) {
			g.lines = append(g.lines[:4], goldenRecord(5, EventEdgeStopped, `,"appended":3,"lost":0`))
		}, CouldNotTell, 0, "crossing 4 was opened"},
		{"a gap", replace(7, `"outcome"`, `"gaps":[{"reason":"evidence_missing","detail":"x"}],"outcome"`), CouldNotTell, 0, ""},
		{"a flipped bit in an object", func(t *testing.T, g *goldenLog) {
			writeFile(t, g.object(digestText(goldenObject)), strings.Replace(goldenObject, "D", "E", 1))
		}, Unsound, 2, "not what its name says"},
		{"an object that was removed", func(t *testing.T, g *goldenLog) {
			if err := os.Remove(g.object(digestText(goldenObject))); err != nil {
				t.Fatal(err)
			}
		}, CouldNotTell, 2, "not there"},
		{"a policy that was removed", func(t *testing.T, g *goldenLog) {
			if err := os.Remove(g.object(digestText(goldenPolicy))); err != nil {
				t.Fatal(err)
			}
		}, CouldNotTell, 3, "not there"},
		{"an object named by no digest", replace(2, `"object":"sha256:`, `"object":"sha1:`), Unsound, 2, "no digest"},
		{"no record", func(_ *testing.T, g *goldenLog) { g.lines = nil }, Unsound, 1, "empty line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGoldenLog(t)
			c.change(t, g)
			text := strings.TrimSuffix(g.text(), "\x00\n")
			writeFile(t, g.segment(1), text)
			r := verifyOne(t, g.data)
			if r.Verdict != c.want {
				t.Errorf("%s, want %s: %+v", r.Verdict, c.want, r)
			}
			first := r.FirstFault()
			if c.what == "" {
				return
			}
			if first == nil || first.Line != c.line || !strings.Contains(first.What, c.what) {
				t.Fatalf("first fault %+v, want line %d with %q", first, c.line, c.what)
			}
			if first.Line > 0 {
				if off := len(strings.Join(strings.SplitAfter(text, "\n")[:first.Line-1], "")); first.Offset != int64(off) {
					t.Errorf("at octet %d, want %d", first.Offset, off)
				}
			}
		})
	}
}

func TestE80AnEmptyLogIsNotSound(t *testing.T) {
	g := newGoldenLog(t)
	writeFile(t, g.segment(1), "")
	if r := verifyOne(t, g.data); r.Verdict != CouldNotTell {
		t.Errorf("%s, want %s", r.Verdict, CouldNotTell)
	}
}

func TestE80WhatIsNoLogIsAnError(t *testing.T) {
	for _, path := range []string{t.TempDir(), newGoldenLog(t).data} {
		if _, err := Verify(t.Context(), path, VerifyOptions{}); !errors.Is(err, ErrNoLog) {
			t.Errorf("%v, want ErrNoLog", err)
		}
	}
	if _, err := Verify(t.Context(), filepath.Join(t.TempDir(), "none"), VerifyOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want os.ErrNotExist", err)
	}
}

func TestE80AMarkedTearIsAGapAndNoDamage(t *testing.T) {
	g := newGoldenLog(t)
	torn := g.lines[6][:30]
	g.lines = append(g.lines[:6], torn, goldenRecord(7, EventEvidenceGap, fmt.Sprintf(`,"reason":"torn_record","torn":[%d]`, len(torn))),
		goldenRecord(8, EventEdgeStopped, `,"appended":6,"lost":1`))
	writeFile(t, g.segment(1), g.text())
	r := verifyOne(t, g.data)
	if r.Verdict != CouldNotTell || r.Tears != 1 || r.Gaps["torn_record"] != 1 || r.Faulty > 0 {
		t.Errorf("%+v", r)
	}
}

// sealGolden splits the golden log behind its fourth line into two segments.
func sealGolden(t *testing.T, g *goldenLog) (first string) {
	t.Helper()
	first = strings.Join(g.lines[:4], "\n") + "\n"
	measure := fmt.Sprintf(`"segment":1,"records":4,"bytes":%d,"sha256":%q`, len(first), digestText(first))
	second := []string{goldenRecord(5, "segment_opened", `,"segment":2,"previous":{`+measure+`},"open_crossings":[4],"open_edges":["`+goldenEdge+`"]`)}
	for i, l := range g.lines[4:] {
		second = append(second, strings.Replace(l, fmt.Sprintf(`"seq":%d`, i+5), fmt.Sprintf(`"seq":%d`, i+6), 1))
	}
	writeFile(t, g.segment(1), first)
	writeFile(t, g.segment(2), strings.Join(second, "\n")+"\n")
	writeFile(t, strings.TrimSuffix(g.segment(1), "l"), "") // no file of ours
	writeFile(t, filepath.Join(filepath.Dir(g.segment(1)), "000001.json"), "{"+measure+`,"first_seq":1,"last_seq":4,"sealed_at":"2026-03-01T12:00:01.000Z"}`)
	return first
}

func TestE60E64E80TheChainOfSegmentsIsChecked(t *testing.T) {
	summary := func(g *goldenLog) string { return filepath.Join(filepath.Dir(g.segment(1)), "000001.json") }
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, g *goldenLog, first string)
		want   Verdict
		what   string
	}{
		{"whole", func(*testing.T, *goldenLog, string) {}, Sound, ""},
		{"a changed octet in the old segment", func(t *testing.T, g *goldenLog, first string) {
			writeFile(t, g.segment(1), strings.Replace(first, "robots", "rabots", 1))
		}, Unsound, "the summary of the segment"},
		{"a changed octet and a summary to fit", func(t *testing.T, g *goldenLog, first string) {
			changed := strings.Replace(first, "robots", "rabots", 1)
			writeFile(t, g.segment(1), changed)
			writeFile(t, summary(g), fmt.Sprintf(`{"segment":1,"records":4,"bytes":%d,"sha256":%q}`, len(changed), digestText(changed)))
		}, Unsound, "the chain does not hold"},
		{"a summary that is not true", func(t *testing.T, g *goldenLog, _ string) { writeFile(t, summary(g), `{"segment":1,"records":5}`) }, Unsound, "not true"},
		{"a summary that is no JSON", func(t *testing.T, g *goldenLog, _ string) { writeFile(t, summary(g), "x") }, Unsound, "cannot be read"},
		{"no summary", func(t *testing.T, g *goldenLog, _ string) { remove(t, summary(g)) }, CouldNotTell, "no summary"},
		{"a segment moved away", func(t *testing.T, g *goldenLog, _ string) { remove(t, g.segment(1)) }, CouldNotTell, "segment 000001 is not there"},
		{"a segment without its head", func(t *testing.T, g *goldenLog, first string) {
			b, _ := os.ReadFile(g.segment(2))
			_, rest, _ := strings.Cut(string(b), "\n")
			writeFile(t, g.segment(2), rest)
		}, Unsound, "does not begin with segment_opened"},
		{"a successor without a record", func(t *testing.T, g *goldenLog, _ string) { writeFile(t, g.segment(2), "") }, CouldNotTell, "no record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGoldenLog(t)
			c.change(t, g, sealGolden(t, g))
			r := verifyOne(t, g.data)
			if r.Verdict != c.want {
				t.Errorf("%s, want %s: %+v", r.Verdict, c.want, r)
			}
			if first := r.FirstFault(); c.what != "" && (first == nil || !strings.Contains(first.What, c.what)) {
				t.Errorf("first fault %+v, want %q", first, c.what)
			}
		})
	}
}

func TestE80TheSummaryOfARunIsChecked(t *testing.T) {
	const counted = `,"crossings":{"delivered":2,"refused":1},"gaps":0`
	build := func(t *testing.T, counts string) (dir string, s RunSummary) {
		g := newGoldenLog(t)
		dir = filepath.Join(g.data, "runs", "r")
		g.replace(t, 1, `"session":"s"`, `"run":"r"`)
		g.lines = append(g.lines[:7], goldenRecord(8, EventRunCompleted, `,"run":"r","execution":"replay","policy_digest":"`+digestText(goldenPolicy)+`","recordings":"`+digestText("recording")+`"`+counts),
			goldenRecord(9, EventEdgeStopped, `,"appended":7,"lost":0`))
		records, gaps := 9, 0
		writeFile(t, filepath.Join(dir, runLogName), g.text())
		writeFile(t, filepath.Join(dir, runPolicyName), goldenPolicy)
		return dir, RunSummary{Run: "r", Execution: "replay", Recordings: digestText("recording"), Log: RunLogFacts{&records, int64(len(g.text())), digestText(g.text())},
			Complete: true, Gaps: &gaps, Crossings: map[Outcome]int{Delivered: 2, Refused: 1}, PolicyDigest: digestText(goldenPolicy)}
	}
	for _, c := range []struct {
		name   string
		change func(s *RunSummary)
		want   Verdict
	}{
		{"true", func(*RunSummary) {}, Sound},
		{"another count of records", func(s *RunSummary) { *s.Log.Records = 8 }, Unsound},
		{"another size", func(s *RunSummary) { s.Log.Bytes++ }, Unsound},
		{"another digest", func(s *RunSummary) { s.Log.SHA256 = digestText("") }, Unsound},
		{"other crossings", func(s *RunSummary) { s.Crossings[Delivered] = 3 }, Unsound},
		{"other gaps", func(s *RunSummary) { *s.Gaps = 1 }, Unsound},
		{"another run", func(s *RunSummary) { s.Run = "other" }, Unsound},
		{"another execution", func(s *RunSummary) { s.Execution = "live" }, Unsound},
		{"another recording", func(s *RunSummary) { s.Recordings = digestText("other") }, Unsound},
		{"another policy", func(s *RunSummary) { s.PolicyDigest = digestText("") }, Unsound},
		{"not complete", func(s *RunSummary) { s.Complete = false }, CouldNotTell},
		{"counts that could not be had", func(s *RunSummary) { s.Log.Records, s.Gaps, s.Crossings = nil, nil, nil }, Sound},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, s := build(t, counted)
			c.change(&s)
			writeSummary(t, dir, s)
			if r := verifyOne(t, dir); r.Verdict != c.want {
				t.Errorf("%s, want %s: %+v", r.Verdict, c.want, r)
			}
		})
	}
	t.Run("another policy, with a file to fit", func(t *testing.T) {
		dir, s := build(t, counted)
		writeFile(t, filepath.Join(dir, runPolicyName), "{}")
		s.PolicyDigest = digestText("{}")
		writeSummary(t, dir, s)
		if r := verifyOne(t, dir); r.Verdict != Unsound {
			t.Errorf("%s, want %s: %+v", r.Verdict, Unsound, r)
		}
	})
	for counts, want := range map[string]Verdict{
		``:                                      Sound, // they could not be had
		`,"crossings":{"delivered":2},"gaps":0`: Unsound,
		`,"crossings":{},"gaps":0`:              Unsound,
		`,"crossings":{"delivered":2,"refused":1},"gaps":1`: Unsound,
	} {
		t.Run("run_completed with "+counts, func(t *testing.T) {
			dir, s := build(t, counts)
			writeSummary(t, dir, s)
			if r := verifyOne(t, dir); r.Verdict != want {
				t.Errorf("%s, want %s: %+v", r.Verdict, want, r)
			}
		})
	}
}

func writeSummary(t *testing.T, dir string, s RunSummary) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, runSummaryName), string(b))
}

func TestE44E83TheFirstFaultIsTheSameHoweverLongTheLinesAre(t *testing.T) {
	for _, pad := range []int{0, 100, 256 << 10, 1 << 20} {
		g := newGoldenLog(t)
		g.replace(t, 2, `"kind"`, `"pad":"`+strings.Repeat("x", pad)+`","kind"`)
		g.replace(t, 5, `"opened":4`, `"opened":77`)
		writeFile(t, g.segment(1), g.text())
		r := verifyOne(t, g.data)
		first := r.FirstFault()
		want := 5
		if pad == 1<<20 {
			want = 2 // longer than any record
		}
		if first == nil || first.Line != want {
			t.Errorf("with %d octets more in a line: %+v, want line %d", pad, first, want)
		}
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	g := newGoldenLog(t)
	writeFile(t, g.segment(1), g.text())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, g.data, VerifyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
