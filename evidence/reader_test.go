package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// plantLog makes a data directory whose session s has the given segments.
func plantLog(t *testing.T, segments ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	log := filepath.Join(dir, "sessions", "s")
	must(t, os.MkdirAll(log, 0o700))
	for i, octets := range segments {
		must(t, os.WriteFile(filepath.Join(log, segmentName(i+1)), []byte(octets), 0o600))
	}
	return dir
}

// readAll returns what a reading of session s gives, one line for each call of
// Next, and where it stopped.
func readAll(t *testing.T, dir string, o ReadOptions) (got []string, at Position) {
	t.Helper()
	r, err := OpenReader(dir, "s", o)
	must(t, err)
	defer r.Close()
	for {
		e, err := r.Next(t.Context())
		var damage *DamageError
		switch {
		case err == nil:
			got = append(got, fmt.Sprint("record ", e.Segment, ":", e.Number, " ", e.Event))
			continue
		case errors.As(err, &damage):
			got = append(got, err.Error())
			continue
		case err != io.EOF:
			got = append(got, err.Error())
		}
		if tear := r.Tear(); tear != nil {
			got = append(got, fmt.Sprintf("tear %d:%d of %d", tear.Segment, tear.Line, tear.Bytes))
		}
		return got, r.Position()
	}
}

const (
	tornRecord = `{"seq":10,"timestamp":"2026-03-01T12:00:00.000Z","event":"evidence_gap","payload":{"edge":"e","reason":"torn_record","torn":[%s]}}`
	nextRecord = `{"seq":11,"timestamp":"2026-03-01T12:00:00.000Z","event":"y","payload":{"edge":"e"}}`
)

func torn(lengths string) string { return fmt.Sprintf(tornRecord, lengths) + "\n" }

// readings are logs and what the two modes that write nothing make of them.
var readings = map[string]struct {
	log              []string // segments
	forecast, refuse []string
}{
	"a whole log": {
		[]string{wholeRecord + "\n" + nextRecord + "\n"},
		[]string{"record 1:1 x", "record 1:2 y"}, nil,
	},
	"an empty log": {[]string{""}, nil, nil},
	"a torn line that the next record names": {
		[]string{wholeRecord + "\n{\"se\n" + torn("4") + nextRecord + "\n"},
		[]string{"record 1:1 x", "record 1:3 evidence_gap", "record 1:4 y"}, nil,
	},
	"a gap of another length": {
		[]string{wholeRecord + "\n{\"se\n" + torn("5")},
		[]string{"record 1:1 x", "s: segment 000001, line 2, offset 84: not JSON", "record 1:3 evidence_gap"}, nil,
	},
	"damage in the middle": {
		[]string{wholeRecord + "\nbad\n" + nextRecord + "\n"},
		[]string{"record 1:1 x", "s: segment 000001, line 2, offset 84: not JSON", "record 1:3 y"}, nil,
	},
	"a bad line with its end at the end": {
		[]string{wholeRecord + "\nbad\n"},
		[]string{"record 1:1 x", "s: segment 000001, line 2, offset 84: not JSON"}, nil,
	},
	"a torn line that nothing names yet": {
		[]string{wholeRecord + "\n{\"se"},
		[]string{"record 1:1 x", "tear 1:2 of 4"},
		[]string{"record 1:1 x", "s: segment 000001, line 2, offset 84: the last line, of 4 octets, was cut short and nothing says so", "tear 1:2 of 4"},
	},
	"a record that lacks only its end": {
		[]string{wholeRecord},
		[]string{"record 1:1 x"},
		[]string{"s: segment 000001, line 1, offset 0: the last line, of 83 octets, was cut short and nothing says so", "tear 1:1 of 83"},
	},
	"a torn line at the end of a sealed segment": {
		[]string{wholeRecord + "\n{\"se", nextRecord + "\n"},
		[]string{"record 1:1 x", "s: segment 000001, line 2, offset 84: not JSON", "record 2:1 y"}, nil,
	},
	"records of two segments": {
		[]string{wholeRecord + "\n", nextRecord + "\n"},
		[]string{"record 1:1 x", "record 2:1 y"}, nil,
	},
}

func TestReaderE42E43ModesThatWriteNothing(t *testing.T) {
	if len(wholeRecord) != 83 {
		t.Fatalf("the record has %d octets, the table counts on 83", len(wholeRecord))
	}
	for name, row := range readings {
		t.Run(name, func(t *testing.T) {
			dir := plantLog(t, row.log...)
			got, _ := readAll(t, dir, ReadOptions{})
			if diff := cmp.Diff(row.forecast, got); diff != "" {
				t.Errorf("forecast (-want +got):\n%s", diff)
			}
			want := row.refuse
			if want == nil {
				want = row.forecast
			}
			got, _ = readAll(t, dir, ReadOptions{Mode: ReadRefuse})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("refuse (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.log, readSegments(t, dir, "s")); diff != "" {
				t.Errorf("reading changed the log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderE43ModeRepairMarksAsAnAppendWould(t *testing.T) {
	for name, row := range readings {
		t.Run(name, func(t *testing.T) {
			dir := plantLog(t, row.log...)
			s := openStore(t, dir, Options{})
			readAll(t, dir, ReadOptions{Mode: ReadRepair, Store: s})
			// Whatever could be repaired is: only damage is left.
			again, _ := readAll(t, dir, ReadOptions{Mode: ReadRefuse})
			for _, line := range again {
				if strings.Contains(line, "cut short") {
					t.Errorf("after the repair: %s", line)
				}
			}
			for i, octets := range readSegments(t, dir, "s")[:len(row.log)] {
				if !strings.HasPrefix(octets, row.log[i]) {
					t.Error("octets that were in the log are not there any more")
				}
			}
		})
	}
}

// TestReaderE44ResumedReadingEqualsWholeReading cuts each log at every octet,
// reads what is there, and goes on from the position when the rest has come.
func TestReaderE44ResumedReadingEqualsWholeReading(t *testing.T) {
	for name, row := range readings {
		t.Run(name, func(t *testing.T) {
			whole, end := readAll(t, plantLog(t, row.log...), ReadOptions{})
			last := len(row.log) - 1
			for cut := range len(row.log[last]) {
				part := append([]string{}, row.log...)
				part[last] = part[last][:cut]
				dir := plantLog(t, part...)
				first, at := readAll(t, dir, ReadOptions{})
				must(t, os.WriteFile(filepath.Join(dir, "sessions", "s", segmentName(last+1)), []byte(row.log[last]), 0o600))
				rest, gotEnd := readAll(t, dir, ReadOptions{From: at})
				// What was not settled the first time is said again.
				joined := append(settledOf(first, at), rest...)
				if diff := cmp.Diff(whole, joined); diff != "" {
					t.Fatalf("cut at %d (-whole +resumed):\n%s", cut, diff)
				}
				if gotEnd != end {
					t.Fatalf("cut at %d it ends at %+v, want %+v", cut, gotEnd, end)
				}
			}
		})
	}
}

// settledOf returns the lines of a reading that stand before at.
func settledOf(lines []string, at Position) (settled []string) {
	for _, line := range lines {
		var segment, number int
		if _, err := fmt.Sscanf(line, "record %d:%d ", &segment, &number); err != nil {
			if _, err := fmt.Sscanf(line, "s: segment %d, line %d,", &segment, &number); err != nil {
				continue // a tear
			}
		}
		if segment < at.Segment || segment == at.Segment && number < at.Line {
			settled = append(settled, line)
		}
	}
	return settled
}

func TestReaderReadsTheLogOfAPublishedRun(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "runs", "r"), 0o700),
		os.WriteFile(filepath.Join(dir, "runs", "r", "evidence.jsonl"), []byte(wholeRecord+"\n"), 0o600))
	r, err := OpenReader(dir, "runs/r", ReadOptions{Mode: ReadRefuse})
	must(t, err)
	defer r.Close()
	if e, err := r.Next(t.Context()); err != nil || e.Event != "x" {
		t.Errorf("Next = %v, %v", e, err)
	}
	if _, err := r.Next(t.Context()); err != io.EOF {
		t.Errorf("Next = %v", err)
	}
	for _, none := range []string{"runs/../r", "runs/", "runs/other", "r", "../runs/r"} {
		if _, err := OpenReader(dir, none, ReadOptions{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("OpenReader(%q) = %v", none, err)
		}
	}
}

func TestReaderE43WaitsForASlowLiveWriter(t *testing.T) {
	dir := plantLog(t, wholeRecord+"\n"+nextRecord[:20])
	f, err := os.OpenFile(filepath.Join(dir, "sessions", "s", segmentName(1)), os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	var writing sync.WaitGroup
	writing.Go(func() {
		time.Sleep(300 * time.Millisecond)
		f.WriteString(nextRecord[20:] + "\n")
		unix.Flock(int(f.Fd()), unix.LOCK_UN)
	})
	defer writing.Wait() // before the file is closed
	got, _ := readAll(t, dir, ReadOptions{Mode: ReadRefuse})
	if diff := cmp.Diff([]string{"record 1:1 x", "record 1:2 y"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReaderE44UsesBoundedMemory(t *testing.T) {
	const size = 200 << 20
	dir := plantLog(t, "")
	f, err := os.OpenFile(filepath.Join(dir, "sessions", "s", segmentName(1)), os.O_WRONLY, 0)
	must(t, err)
	line := strings.Replace(nextRecord, `"e"`, `"e","filler":"`+strings.Repeat("x", 64<<10)+`"`, 1) + "\n"
	for range size / len(line) {
		_, err := f.WriteString(line)
		must(t, err)
	}
	must(t, f.Close())
	r, err := OpenReader(dir, "s", ReadOptions{})
	must(t, err)
	defer r.Close()
	var most uint64
	for n := 0; ; n++ {
		_, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		must(t, err)
		if n%500 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if most > 32<<20 {
		t.Errorf("reading %d MiB took %d MiB of memory", size>>20, most>>20)
	}
}

// FuzzReaderE42E44 reads logs of any octets, whole and in two parts.
func FuzzReaderE42E44(f *testing.F) {
	seeds := 0
	for _, row := range readings {
		for _, octets := range row.log {
			f.Add(octets, len(octets)/2)
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, octets string, cut int) {
		if cut < 0 || cut > len(octets) {
			return
		}
		dir := plantLog(t, octets)
		whole, end := readAll(t, dir, ReadOptions{})
		segment := filepath.Join(dir, "sessions", "s", segmentName(1))
		must(t, os.Truncate(segment, int64(cut)))
		first, at := readAll(t, dir, ReadOptions{})
		must(t, os.WriteFile(segment, []byte(octets), 0o600))
		rest, gotEnd := readAll(t, dir, ReadOptions{From: at})
		if diff := cmp.Diff(whole, append(settledOf(first, at), rest...)); diff != "" {
			t.Errorf("cut at %d (-whole +resumed):\n%s", cut, diff)
		}
		if gotEnd != end {
			t.Errorf("cut at %d it ends at %+v, want %+v", cut, gotEnd, end)
		}
	})
}
