package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/rulings"
)

// Publish ends the run, whose store is closed: it reads the log back, attests to
// it in summary.json, and gives the run its name. owed says that a record is
// neither in the log nor told of by a gap there; recorded is what there is to say of
// the recording it made or replayed. After an error the older run, if there was one,
// is whole under the name, and the staging folder is left.
func (r *Run) Publish(ctx context.Context, owed bool, recorded RunRecording) (RunSummary, error) {
	defer r.letGo()
	s, err := r.summarize(ctx, owed)
	s.RunRecording = recorded
	s.Recordings = r.recording
	if err != nil {
		return s, err
	}
	for _, step := range r.publishing(s) {
		if err := step(); err != nil {
			return s, fmt.Errorf("publishing run %s: %w", r.id, err)
		}
	}
	return s, nil
}

// publishing are the steps of E72 in order. An end between any two leaves the
// older run whole under the name, or the new one.
func (r *Run) publishing(s RunSummary) []func() error {
	return []func() error{
		func() error { return r.writeSummary(s) },
		r.syncFiles,
		r.takeName,
		func() error { return durable.SyncDir(r.runs) },
		// Under the staging name lies the older run by now, or nothing.
		func() error { return os.RemoveAll(r.dir()) },
	}
}

func (r *Run) writeSummary(s RunSummary) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteNew(filepath.Join(r.dir(), runSummaryName), append(text, '\n'), 0o600)
}

// syncFiles puts every file of the run, and the names of all, on disk.
func (r *Run) syncFiles() error {
	for _, name := range []string{runLogName, runPolicyName, runSummaryName} {
		f, err := os.Open(filepath.Join(r.dir(), name))
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return durable.SyncDir(r.dir())
}

// takeName makes the staging folder runs/<run> in one step. rename(2) takes no
// name of a directory that holds anything, and a published run does; then the
// two are exchanged. A loop, because another process may publish or delete a run
// of this name meanwhile.
func (r *Run) takeName() error {
	name := filepath.Join(r.runs, r.id)
	for {
		err := os.Rename(r.dir(), name)
		if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := r.exchange(r.dir(), name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// summarize reads the log back and measures it as it stands.
func (r *Run) summarize(ctx context.Context, owed bool) (RunSummary, error) {
	s := RunSummary{Run: r.id, Execution: r.execution, StartedAt: formatInstant(r.started.UnixMilli()),
		CompletedAt: formatInstant(time.Now().UnixMilli()), PolicyDigest: r.policy.String()}
	read, err := r.readBack(ctx)
	if err != nil {
		return s, err
	}
	whole := read.report.Faulty == 0 && read.state.tear == nil && read.state.tally.records > 0
	s.Complete = whole && !owed
	if whole {
		// Of a log that does not read back whole nobody knows what it lacks.
		gaps := total(read.state.tally.gaps)
		s.Log.Records, s.Gaps, s.Crossings = &read.state.tally.records, &gaps, withoutZero(read.state.tally.crossings[Mediated])
	}
	f, err := os.Open(filepath.Join(r.dir(), runLogName))
	if err != nil {
		return s, err
	}
	defer f.Close()
	s.Log.SHA256, s.Log.Bytes, err = digestOf(f)
	return s, err
}

// readBack reads the log in mode refuse (E43).
func (r *Run) readBack(ctx context.Context) (*logVerifier, error) {
	place := logPlace{name: r.staging, dir: r.dir(), file: runLogName}
	v := newLogVerifier(place, nil, nil, nil)
	return v, v.run(ctx)
}

func digestOfBytes(b []byte) rulings.Digest { return rulings.Digest(sha256.Sum256(b)) }
