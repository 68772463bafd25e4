package evidence

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// ErrNotFound is returned for a session, crossing or log that is not there,
// and for an id that cannot be one.
var ErrNotFound = errors.New("evidence: not in the logs")

// An Index finds records in the logs of a data directory. It only ever reads
// them. It is built from the logs and can be dropped at any time; it is brought
// up to date whenever it is asked, so it needs no goroutine of its own and
// notices what any process has appended. Its memory grows with the length of
// the logs, at less than a thousandth of it, and not with the number of records.
//
// All methods may be called by any number of goroutines.
type Index struct {
	data *os.Root

	mu       sync.Mutex
	sessions *os.Root // nil until the directory is there
	logs     map[string]*indexedLog
}

// OpenIndex returns an index of the logs below dataDir. Nothing is read before
// the first question. The caller closes it.
func OpenIndex(dataDir string) (*Index, error) {
	data, err := os.OpenRoot(dataDir)
	if err != nil {
		return nil, err
	}
	return &Index{data: data, logs: make(map[string]*indexedLog)}, nil
}

// Close lets go of the directories. No method may be called afterwards; logs
// already opened by OpenLog stay good.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sessions != nil {
		x.sessions.Close()
	}
	return x.data.Close()
}

// root returns the handle on the directory of the sessions, opened once (E4);
// fs.ErrNotExist while no session was ever recorded.
func (x *Index) root() (*os.Root, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sessions == nil {
		dir, err := openDir(x.data, "sessions")
		if err != nil {
			return nil, err
		}
		x.sessions = dir
	}
	return x.sessions, nil
}

// log brings the log of session up to date.
func (x *Index) log(session string) (*logState, error) {
	if !ValidSession(session) {
		return nil, ErrNotFound
	}
	root, err := x.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	state, err := x.entry(session).refresh(root)
	if err != nil {
		x.drop(session)
		return nil, ErrNotFound
	}
	return state, nil
}

// all brings every log up to date. A session that goes away meanwhile is left
// out; one whose log cannot be read is a state with a fault.
func (x *Index) all() ([]*logState, error) {
	root, err := x.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := sessionNames(root)
	if err != nil {
		return nil, err
	}
	x.keep(ids)
	states := make([]*logState, len(ids))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0)) // a first look reads every log whole
	for i, id := range ids {
		group.Go(func() error {
			states[i], _ = x.entry(id).refresh(root) // nil when it went away
			return nil
		})
	}
	_ = group.Wait()
	found := states[:0]
	for _, s := range states {
		if s != nil {
			found = append(found, s)
		}
	}
	return found, nil
}

// sessionNames lists the sessions that have a log. What is named otherwise than
// a session is none of ours.
func sessionNames(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	ids := names[:0]
	for _, name := range names {
		if ValidSession(name) {
			ids = append(ids, name)
		}
	}
	return ids, nil
}

func (x *Index) entry(id string) *indexedLog {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.logs[id]
	if g == nil {
		g = &indexedLog{id: id}
		x.logs[id] = g
	}
	return g
}

func (x *Index) drop(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.logs, id)
}

// keep drops what the index knows of sessions that are no longer there.
func (x *Index) keep(ids []string) {
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.logs {
		if !there[id] {
			delete(x.logs, id)
		}
	}
}
