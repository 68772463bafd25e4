package crash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/wayleave/wayleave/evidence"
)

// A trail reads a log on and on and holds it to what must be true of any log that
// edges wrote one after another.
type trail struct {
	session   string
	at        evidence.Position
	records   int
	seq       uint64
	windows   map[string]bool   // edges
	crossings map[uint64]string // under way, to their edge
	summed    bool              // every sealed segment has to have its summary
}

func newTrail() trail {
	return trail{session: sessionID, windows: make(map[string]bool), crossings: make(map[uint64]string)}
}

// follow reads what was added and returns which records it saw, "event mark".
func (tr *trail) follow(dir string, mode evidence.ReadMode) (seen map[string]bool, err error) {
	r, err := evidence.OpenReader(dir, tr.session, evidence.ReadOptions{Mode: mode, From: tr.at})
	if errors.Is(err, evidence.ErrNotFound) {
		return nil, nil // killed before there was one
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	seen = make(map[string]bool)
	for {
		e, err := r.Next(context.Background())
		if err == io.EOF {
			tr.at = r.Position()
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		seen[e.Event+" "+e.Text("method")] = true
		if at := r.Position(); at.Segment == e.Segment && at.Offset <= e.Offset {
			continue // it lacks its end, and is read again
		}
		if err := tr.add(dir, e); err != nil {
			return nil, fmt.Errorf("segment %d, line %d: %w", e.Segment, e.Number, err)
		}
	}
}

func (tr *trail) add(dir string, e evidence.Entry) error {
	tr.records++
	if e.Seq <= tr.seq {
		return fmt.Errorf("seq %d stands behind %d", e.Seq, tr.seq)
	}
	tr.seq = e.Seq
	edge := e.Text("edge")
	switch e.Event {
	case evidence.EventEdgeStarted:
		if open := tr.open(); open != "" {
			return fmt.Errorf("edge %s starts, and %s", edge, open)
		}
		tr.windows[edge] = true
	case evidence.EventEdgeStopped, evidence.EventSessionClosed:
		delete(tr.windows, edge)
	case evidence.EventCrossingOpened:
		tr.crossings[e.Seq] = edge
	case evidence.EventCrossingMediated:
		delete(tr.crossings, e.Uint("opened"))
	case evidence.EventSegmentOpened:
		return tr.chained(dir, e)
	case evidence.EventEvidenceGap:
		return tr.gap(e)
	}
	return nil
}

// gap takes in what an edge says of one before it. It must be true, and said once.
func (tr *trail) gap(e evidence.Entry) error {
	of := e.Text("of")
	switch e.Text("reason") {
	case "unclean_stop":
		if !tr.windows[of] {
			return fmt.Errorf("unclean_stop of edge %s, whose window is not open", of)
		}
		delete(tr.windows, of)
	case "unfinished_crossing":
		n := e.Uint("crossing")
		if tr.crossings[n] != of {
			return fmt.Errorf("unfinished_crossing %d of edge %s, which is none", n, of)
		}
		delete(tr.crossings, n)
	}
	return nil
}

// open says what nobody has told the end of, "" when all is told.
func (tr *trail) open() string {
	if len(tr.windows)+len(tr.crossings) == 0 {
		return ""
	}
	return fmt.Sprintf("the windows of %v and the crossings %v are open", tr.windows, tr.crossings)
}

// chained checks the segment before the one that e begins.
func (tr *trail) chained(dir string, e evidence.Entry) error {
	n := int(e.Uint("segment")) - 1
	path := filepath.Join(dir, "sessions", tr.session, fmt.Sprintf("%06d", n))
	octets, err := os.ReadFile(path + ".jsonl")
	if err != nil {
		return err
	}
	type measure struct {
		Segment int
		Records int
		Bytes   int
		SHA256  string
	}
	sum := sha256.Sum256(octets)
	var said measure
	e.Decode("previous", &said)
	if want := "sha256:" + hex.EncodeToString(sum[:]); said.SHA256 != want || said.Bytes != len(octets) || said.Segment != n {
		return fmt.Errorf("the segment before has %d octets and %s, the head says %+v", len(octets), want, said)
	}
	text, err := os.ReadFile(path + ".json")
	if errors.Is(err, os.ErrNotExist) && !tr.summed {
		return nil // killed before it was written; the chain does not hang on it
	}
	var summary measure
	if err := errors.Join(err, json.Unmarshal(text, &summary)); err != nil {
		return err
	}
	if summary != said {
		return fmt.Errorf("the summary of segment %d is %+v, the head says %+v", n, summary, said)
	}
	return nil
}
