package evidence

import (
	"errors"
	"testing"
	"testing/synctest"
)

// What is appended of a crossing names those of its records that were late, be
// they on disk by then or not: otherwise the next edge would call it unfinished.
func TestAppendE12WhatComesBehindALateRecordOfACrossingNamesIt(t *testing.T) {
	late := func(t *testing.T, l *Log, r Record) {
		t.Helper()
		if _, err := l.Append(t.Context(), r); !errors.Is(err, ErrLate) {
			t.Errorf("Append = %v", err)
		}
	}
	for name, c := range map[string]struct {
		opens, hangs bool // it was opened; the disk hangs until its end too is late
	}{
		"opened late":                     {true, false},
		"opened late and ended late":      {true, true},
		"ended late, never having opened": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
				x := &Crossing{Grade: Mediated, Method: "late", URL: "https://h/"}
				fs.hang()
				if c.opens {
					late(t, l, CrossingOpened{x})
				}
				if c.hangs {
					late(t, l, CrossingEnded{x})
				}
				fs.goOn()
				synctest.Wait()
				if !c.hangs {
					_, err := l.Append(t.Context(), CrossingEnded{x})
					must(t, err)
				}
				_, err := l.Append(t.Context(), CrossingUndelivered{Late: x, Bytes: 1, Failure: Failure{Kind: "client"}})
				must(t, err)
				number, ended := 0.0, false
				for _, r := range fs.log(t, "s") {
					switch {
					case r.event == EventCrossingOpened && r.get("method") == "late":
						number = float64(r.seq)
					case r.event == EventCrossingMediated:
						if opened, _ := r.get("opened").(float64); opened != number {
							t.Errorf("the final record is %v, want opened %v", r, number)
						}
						if ended = true; !c.opens {
							number = float64(r.seq)
						}
					case r.event == EventCrossingUndelivered && r.get("crossing") != number:
						t.Errorf("%v, want crossing %v", r, number)
					}
				}
				if number == 0 || !ended || l.open != 1 { // that which every bubble opens
					t.Errorf("crossing %v, ended %v, %d are open", number, ended, l.open)
				}
			})
		})
	}
}

// What never came to be on disk is named by nothing: the gap tells of it.
func TestAppendE12WhatComesBehindALostRecordOfACrossingNamesNothing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
		x := &Crossing{Grade: Mediated, Method: "lost", URL: "https://h/"}
		fs.hang()
		if _, err := l.Append(t.Context(), CrossingOpened{x}); !errors.Is(err, ErrLate) {
			t.Errorf("Append = %v", err)
		}
		fs.fail(errors.New("the disk is gone"))
		synctest.Wait()
		_, err := l.Append(t.Context(), CrossingUndelivered{Late: x, Failure: Failure{Kind: "client"}})
		must(t, err)
		_, err = l.Append(t.Context(), CrossingEnded{x})
		must(t, err)
		records := fs.log(t, "s")
		if last := records[len(records)-1]; last.event != EventCrossingMediated || last.get("opened") != nil {
			t.Errorf("the last record is %v", last)
		}
		for _, r := range records {
			if r.event == EventCrossingUndelivered {
				t.Errorf("%v speaks of a crossing that is not on disk", r)
			}
		}
		if l.open != 1 {
			t.Errorf("%d crossings are open", l.open)
		}
	})
}
