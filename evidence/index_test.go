package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// day is when the records of the tests are written, in milliseconds.
var day = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC).UnixMilli()

// recordLine is one line of a log, written at the given milliseconds of day.
func recordLine(seq uint64, ms int64, event, payload string) string {
	return fmt.Sprintf(`{"seq":%d,"timestamp":"%s","event":"%s","payload":{"edge":"e1"%s}}`, seq, formatInstant(day+ms), event, payload)
}

// crossingLine is a delivered crossing of url.
func crossingLine(seq uint64, ms int64, url string) string {
	return recordLine(seq, ms, EventCrossingMediated, `,"grade":"mediated","class":"source","outcome":"delivered","url":"`+url+`","http_status":200`)
}

func tornLine(seq uint64, ms int64, torn ...int) string {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(torn), " ", ","), "[]")
	return recordLine(seq, ms, EventEvidenceGap, `,"reason":"torn_record","torn":[`+list+`]`)
}

// lines are whole lines.
func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// logDir is a data directory whose logs the test writes by hand.
type logDir struct {
	t    *testing.T
	path string
}

func newLogDir(t *testing.T) logDir {
	t.Helper()
	d := logDir{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(d.path, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d logDir) file(session string, segment int) string {
	return filepath.Join(d.path, "sessions", session, segmentName(segment))
}

// append adds octets to the segment of a log.
func (d logDir) append(session string, segment int, octets string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.file(session, segment)), 0o700); err != nil {
		d.t.Fatal(err)
	}
	f, err := os.OpenFile(d.file(session, segment), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.WriteString(octets); err != nil {
		d.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
}

func (d logDir) index() *Index {
	d.t.Helper()
	x, err := OpenIndex(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { x.Close() })
	return x
}

func (d logDir) session(x *Index, id string) SessionInfo {
	d.t.Helper()
	info, err := x.Session(id)
	if err != nil {
		d.t.Fatal(err)
	}
	return info
}

// A log with every kind of line that is not a record as it should be.
func TestIndexE42E43(t *testing.T) {
	good, next := crossingLine(1, 0, "http://a.test/"), crossingLine(3, 0, "http://a.test/")
	half := good[:40]
	at := func(line int, offset int, fault lineFault) Damage {
		return Damage{Segment: 1, Line: line, Offset: int64(offset), Fault: string(fault)}
	}
	wrongGap := lineFault("it speaks of a torn line that does not stand before it")
	tests := []struct {
		name    string
		log     string
		records int
		damage  []Damage
		tear    int // length of the unmarked tear, 0 for none
	}{
		{"whole lines", lines(good, next), 2, nil, 0},
		{"nothing", "", 0, nil, 0},
		{"a last line that lacks only its end is kept", lines(good) + next, 2, nil, 0},
		{"a last line cut short is a tear, not damage", lines(good) + half, 1, nil, len(half)},
		{"a tear of NUL octets", lines(good) + "\x00\x00\x00", 1, nil, 3},
		{"a tear as the first line", half, 0, nil, len(half)},
		{"a tear that was marked", lines(good, half, tornLine(2, 0, len(half)), next), 3, nil, 0},
		{"two tears that were marked together", lines(good, half, "x", tornLine(2, 0, len(half), 1)), 2, nil, 0},
		{"a whole last line that was marked all the same", lines(good, tornLine(2, 0, len(good)), next), 3, nil, 0},
		{"a marked tear and a new one", lines(good, half, tornLine(2, 0, len(half))) + half, 2, nil, len(half)},
		{"a marked line longer than 1 MiB", lines(good, strings.Repeat("x", maxLineBytes+7), tornLine(2, 0, maxLineBytes+7), next), 3, nil, 0},

		{"damage in the middle", lines(good, half, next), 2, []Damage{at(2, len(good)+1, faultJSON)}, 0},
		{"a terminated bad line at the end", lines(good, half), 1, []Damage{at(2, len(good)+1, faultJSON)}, 0},
		{"a mark of another length", lines(good, half, tornLine(2, 0, 39), next), 3, []Damage{at(2, len(good)+1, faultJSON)}, 0},
		{"a mark for one line more", lines(good, half, tornLine(2, 0, 40, 3)), 2, []Damage{at(2, len(good)+1, faultJSON)}, 0},
		{"a mark for one line less", lines(half, "x", tornLine(2, 0, 1)), 1, []Damage{at(1, 0, faultJSON), at(2, 41, faultJSON)}, 0},
		{"a mark in another order", lines(half, "x", tornLine(2, 0, 1, 40)), 1, []Damage{at(1, 0, faultJSON), at(2, 41, faultJSON)}, 0},
		{"a mark without a list", lines(half, recordLine(2, 0, EventEvidenceGap, `,"reason":"torn_record"`)), 1, []Damage{at(1, 0, faultJSON)}, 0},
		{"another gap", lines(half, recordLine(2, 0, EventEvidenceGap, `,"reason":"write_failed","torn":[40]`)), 1, []Damage{at(1, 0, faultJSON)}, 0},
		{"a mark that is no gap", lines(half, recordLine(2, 0, "torn", `,"reason":"torn_record","torn":[40]`)), 1, []Damage{at(1, 0, faultJSON)}, 0},
		{"a record between the line and its mark", lines(half, good, tornLine(2, 0, 40)), 2, []Damage{at(1, 0, faultJSON), at(3, 41+len(good)+1, wrongGap)}, 0},
		{"a mark of a line that is gone", lines(good, tornLine(2, 0, 12)), 2, []Damage{at(2, len(good)+1, wrongGap)}, 0},
		{"an empty line", lines(good, "", next), 2, []Damage{at(2, len(good)+1, faultEmpty)}, 0},
		{"an empty line between a tear and its mark", lines(half, "", tornLine(2, 0, 40)), 1, []Damage{at(1, 0, faultJSON), at(2, 41, faultEmpty)}, 0},
		{"a byte order mark", "\ufeff" + lines(good), 0, []Damage{at(1, 0, faultBOM)}, 0},
		{"CRLF", good + "\r\n" + next + "\r\n", 0, []Damage{at(1, 0, faultCR), at(2, len(good)+2, faultCR)}, 0},
		{"a line longer than 1 MiB", lines(good, strings.Repeat("x", 3<<20), next), 2, []Damage{at(2, len(good)+1, faultTooLong)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newLogDir(t)
			d.append("s", 1, tt.log)
			got := d.session(d.index(), "s")
			if got.Records != tt.records {
				t.Errorf("%d records, want %d", got.Records, tt.records)
			}
			if diff := cmp.Diff(tt.damage, got.Completeness.Damage); diff != "" || got.Completeness.Damaged != len(tt.damage) {
				t.Errorf("%d damaged places, %s", got.Completeness.Damaged, diff)
			}
			tear := 0
			if c := got.Completeness.Tear; c != nil {
				tear = int(c.Bytes)
				if c.Writing || c.Offset+c.Bytes != int64(len(tt.log)) || c.Line != strings.Count(tt.log, "\n")+1 {
					t.Errorf("the tear is %+v", *c)
				}
			}
			if tear != tt.tear {
				t.Errorf("a tear of %d octets, want %d", tear, tt.tear)
			}
			if content, err := os.ReadFile(d.file("s", 1)); err != nil || string(content) != tt.log {
				t.Error("the reader changed the log")
			}
		})
	}
}

// A reading that goes on where the last stopped says what a whole reading says,
// wherever the log was cut in between.
func TestIndexE44ResumesAtEveryCut(t *testing.T) {
	good := crossingLine(1, 0, "http://a.test/")
	half := good[:17]
	parts := []string{
		lines(recordLine(1, 5, EventEdgeStarted, ""), half, tornLine(2, 3, len(half)), crossingLine(3, 9, "http://a.test/")),
		lines(recordLine(4, 1, "segment_opened", ""), half, good, recordLine(9, 2, EventCrossingOpened, "")) + half + "\n",
		lines(tornLine(10, 8, len(half)), tornLine(11, 8, 3), recordLine(12, 9, EventCrossingMediated, `,"grade":"mediated","outcome":"cut","opened":9,"gaps":[{"reason":"capability_unavailable"}]`)) + half,
	}
	whole := newLogDir(t)
	for i, p := range parts {
		whole.append("s", i+1, p)
	}
	want := whole.session(whole.index(), "s")
	if want.Completeness.Damaged != 4 || want.Completeness.Tear == nil || want.Records != 9 {
		t.Fatalf("the log is not what the test is about: %+v", want)
	}
	for part := range parts {
		for cut := 0; cut <= len(parts[part]); cut++ {
			d := newLogDir(t)
			x := d.index()
			for i := range part {
				d.append("s", i+1, parts[i])
			}
			d.append("s", part+1, parts[part][:cut])
			d.session(x, "s")
			d.append("s", part+1, parts[part][cut:])
			for i := part + 1; i < len(parts); i++ {
				d.append("s", i+1, parts[i])
			}
			if diff := cmp.Diff(want, d.session(x, "s"), cmp.AllowUnexported(SessionInfo{})); diff != "" {
				t.Fatalf("cut at octet %d of segment %d: %s", cut, part+1, diff)
			}
		}
	}
}

// What a living writer has begun is not damage, and not a record until it is one.
func TestIndexE43SeesAWriterAtWork(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	record := crossingLine(2, 0, "http://a.test/")
	d.append("s", 1, lines(crossingLine(1, 0, "http://a.test/"))+record[:30])
	f, err := os.Open(d.file("s", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	got := d.session(x, "s")
	if tear := got.Completeness.Tear; tear == nil || !tear.Writing || got.Records != 1 || got.Completeness.Damaged != 0 {
		t.Errorf("while it is written: %+v", got)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if tear := d.session(x, "s").Completeness.Tear; tear == nil || tear.Writing {
		t.Errorf("when nobody writes it any more: %+v", tear)
	}
	d.append("s", 1, record[30:]+"\n")
	if got := d.session(x, "s"); got.Records != 2 || got.Completeness.Tear != nil {
		t.Errorf("when it is whole: %+v", got)
	}
}

func TestIndexE4OpensNothingThroughLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "000001.jsonl")
	if err := os.WriteFile(outside, []byte(lines(crossingLine(1, 0, "http://a.test/"))), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		plant func(d logDir, dir string) error
		fault string
	}{
		{"a link for a segment", func(d logDir, dir string) error { return os.Symlink(outside, filepath.Join(dir, "000001.jsonl")) }, "a segment is no regular file"},
		{"a link to another log for a segment", func(d logDir, dir string) error {
			d.append("other", 1, lines(crossingLine(1, 0, "http://a.test/")))
			return os.Symlink("../other/000001.jsonl", filepath.Join(dir, "000001.jsonl"))
		}, "a segment is no regular file"},
		{"a FIFO", func(d logDir, dir string) error { return unix.Mkfifo(filepath.Join(dir, "000001.jsonl"), 0o600) }, "a segment is no regular file"},
		{"a directory", func(d logDir, dir string) error { return os.Mkdir(filepath.Join(dir, "000001.jsonl"), 0o700) }, "a segment is no regular file"},
		{"a file that everybody may write", func(d logDir, dir string) error {
			d.append("s", 1, "")
			return os.Chmod(d.file("s", 1), 0o602)
		}, "everybody may write a segment"},
		{"a link for the log", func(d logDir, dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink(filepath.Dir(outside), dir))
		}, "it is no directory"},
		{"a link to another log", func(d logDir, dir string) error {
			d.append("other", 1, lines(crossingLine(1, 0, "http://a.test/")))
			return errors.Join(os.Remove(dir), os.Symlink("other", dir))
		}, "it is no directory"},
		{"a file for the log", func(d logDir, dir string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, "it is no directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newLogDir(t)
			dir := filepath.Join(d.path, "sessions", "s")
			if err := errors.Join(os.Mkdir(dir, 0o700), tt.plant(d, dir)); err != nil {
				t.Fatal(err)
			}
			x := d.index()
			if got := d.session(x, "s"); got.Completeness.Fault != tt.fault || got.Records != 0 || *got.Completeness.Complete {
				t.Errorf("the session is %+v", got)
			}
			page, err := x.Crossings(Query{})
			if err != nil || !slices.Equal(page.Faulty, []string{"s"}) {
				t.Errorf("faulty %q, error %v", page.Faulty, err)
			}
			if _, err := x.OpenLog("s"); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("opening it: %v", err)
			}
		})
	}
	t.Run("a link for all logs", func(t *testing.T) {
		d := logDir{t, t.TempDir()}
		if err := os.Symlink(filepath.Dir(filepath.Dir(outside)), filepath.Join(d.path, "sessions")); err != nil {
			t.Fatal(err)
		}
		if _, err := d.index().Sessions(); err == nil {
			t.Error("it was followed")
		}
	})
}

func TestIndexE2KnowsIdsOnly(t *testing.T) {
	d := newLogDir(t)
	d.append("s", 1, lines(crossingLine(1, 0, "http://a.test/")))
	d.append("not an id", 1, lines(crossingLine(1, 0, "http://a.test/")))
	if err := os.WriteFile(filepath.Join(d.path, "000001.jsonl"), []byte(lines(crossingLine(1, 0, "http://a.test/"))), 0o600); err != nil {
		t.Fatal(err)
	}
	x := d.index()
	for _, id := range []string{"", ".", "..", "../sessions/s", "s/", "s/../s", "/s", "s\x00", "not an id", "S/..", strings.Repeat("s", 129), "absent"} {
		if _, err := x.Session(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("session %q: %v", id, err)
		}
		if _, err := x.Crossing(id, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("crossing of %q: %v", id, err)
		}
		if _, err := x.OpenLog(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("log of %q: %v", id, err)
		}
		if _, err := x.Summary(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("summary of %q: %v", id, err)
		}
	}
	all, err := x.Sessions()
	if err != nil || len(all) != 1 || all[0].Session != "s" {
		t.Errorf("sessions are %+v, error %v", all, err)
	}
}

func TestIndexE2RefusesALogThatNamesAnotherSession(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	d.append("s", 1, lines(recordLine(1, 0, EventEdgeStarted, `,"session":"S"`), crossingLine(2, 0, "http://a.test/")))
	for range 2 { // the second look finds the same
		got := d.session(x, "s")
		if got.Completeness.Fault != "its first record names another session" || got.Records != 0 {
			t.Errorf("the session is %+v", got)
		}
	}
	if page, err := x.Crossings(Query{}); err != nil || len(page.Items) != 0 || !slices.Equal(page.Faulty, []string{"s"}) {
		t.Errorf("the page is %+v, error %v", page, err)
	}
}
