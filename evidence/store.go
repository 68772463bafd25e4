package evidence

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wayleave/wayleave/internal/durable"
	"golang.org/x/sys/unix"
)

// Options say how a Store keeps its logs. The zero value is good.
type Options struct {
	EdgeID    string // empty: a new one
	Version   string // of the edge, for edge_started
	Execution string // session (the default), live, replay, offline
	Tenancy   string // single (the default), shared
	Run       *Run   // the edge is that of a batch run: everything goes into its log; nil: it is not

	AppendWait   time.Duration // how long an append waits for the disk; 0: 10 s
	SessionIdle  time.Duration // after how long without a record a log is closed; 0: 30 min
	SegmentBytes int64         // at how many octets a segment is sealed (E60); 0: 64 MiB

	SecretNames []string // evidence.secret_names (E23)
	SecretPaths []string // evidence.secret_paths

	Now     func() time.Time      // nil: time.Now
	Logger  *slog.Logger          // nil: none
	Metrics prometheus.Registerer // nil: none
	FS      FS                    // nil: the disk
}

const (
	defaultAppendWait  = 10 * time.Second
	defaultSessionIdle = 30 * time.Minute
	defaultSegment     = 64 << 20
	tendEvery          = 30 * time.Second // how often what is owed is tried again (E32)
)

// ErrOwed says that a log owes records it could not write.
var ErrOwed = errors.New("evidence is owed")

// A Store keeps the logs of one edge: it is the edge's life in them, from Open to
// Close. All its methods may be called at once.
type Store struct {
	o        Options
	dir      string
	lock     *edgeLock
	redactor *Redactor
	fs       FS
	metrics  *metrics
	own      *Log

	entries sync.Pool // of *entry
	buffers sync.Pool // of *[]byte, for batches
	writers sync.WaitGroup
	files   atomic.Int64       // logs that the writers hold open
	stop    context.CancelFunc // of the goroutine tend
	tending sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	logs   map[string]*Log
	closed bool

	publishing  sync.Mutex // guards the lock file's content and the field below
	unpublished []byte     // what that file has to hold once the disk has room
}

// Open starts an edge's evidence in dataDir: it makes what is missing there,
// declares the edge alive, and says in the logs that dead edges left to
// themselves how these ended (E40). A file system that cannot lock is an error; a
// full disk is not, it is owed (E34).
func Open(dataDir string, o Options) (*Store, error) {
	s := &Store{o: o.withDefaults(), dir: dataDir, logs: make(map[string]*Log)}
	s.buffers.New = func() any { return new([]byte) }
	for _, dir := range []string{"sessions", "edges"} {
		if err := durable.MkdirAll(filepath.Join(dataDir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	key, err := redactKey(filepath.Join(dataDir, "redact.key"))
	if err != nil {
		return nil, err
	}
	s.redactor = newRedactor(key, o.SecretNames, o.SecretPaths)
	if s.fs = o.FS; s.fs == nil && o.Run != nil {
		s.fs = o.Run.fs
	}
	if s.fs == nil {
		if s.fs, err = Disk(dataDir); err != nil {
			return nil, err
		}
	}
	if s.metrics, err = newMetrics(o.Metrics, func() float64 { return float64(s.Owed()) }); err != nil {
		return nil, err
	}
	if s.lock, err = lockEdge(s.edges(), s.o.EdgeID); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if o.Run != nil {
		s.own = s.log(o.Run.id)
	} else {
		s.own = s.log(OwnSessionOf(s.o.EdgeID))
	}
	s.own.Append(ctx) // its edge_started; what goes wrong is owed
	if o.Run == nil { // else there is no log but the run's
		s.buryDead(ctx)
	}
	s.tending.Go(func() { s.tend(ctx) })
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.EdgeID = cmp.Or(o.EdgeID, NewEdgeID(o.Now()))
	if o.Run != nil {
		o.Execution, o.SegmentBytes = o.Run.execution, math.MaxInt64 // one log, one file
	}
	o.Execution = cmp.Or(o.Execution, "session")
	o.Tenancy = cmp.Or(o.Tenancy, "single")
	o.AppendWait = cmp.Or(o.AppendWait, defaultAppendWait)
	o.SessionIdle = cmp.Or(o.SessionIdle, defaultSessionIdle)
	o.SegmentBytes = cmp.Or(o.SegmentBytes, defaultSegment)
	return o
}

func (s *Store) edges() string { return filepath.Join(s.dir, "edges") }

// redactKey returns the key of the data directory's redactions, which is made
// once (E24). Whoever can read it can test guesses against the log.
func redactKey(path string) ([]byte, error) {
	fresh := make([]byte, 32)
	rand.Read(fresh) // never fails
	err := durable.WriteNew(path, fresh, 0o600)
	if err == nil {
		return fresh, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making redact.key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading redact.key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading redact.key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("redact.key must be a regular file that only its owner may use (mode 0600), it is %v", info.Mode())
	}
	key, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("redact.key does not hold 32 octets (%v)", err)
	}
	return key, nil
}

// EdgeID returns the id of the edge that keeps these logs.
func (s *Store) EdgeID() string { return s.o.EdgeID }

// Own returns the edge's own log, which takes what belongs to no session (E2).
func (s *Store) Own() *Log { return s.own }

// Redact returns url without what may not be in any log (E23).
func (s *Store) Redact(url string) string { return s.redactor.URL(url) }

// Session returns the log of the session id, ErrSessionInvalid if there can be
// none, and ErrClosed after Close. Nothing is written before the first record.
func (s *Store) Session(id string) (*Log, error) {
	if !ValidSession(id) {
		return nil, ErrSessionInvalid
	}
	s.mu.Lock()
	l, closed := s.logs[id], s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case s.o.Run != nil:
		return s.own, nil
	case l != nil:
		return l, nil
	}
	if err := s.checkName(id); err != nil {
		return nil, err
	}
	return s.log(id), nil
}

// log returns the log of the session id and makes it if the store has none.
func (s *Store) log(id string) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil {
		l = &Log{store: s, id: id, since: s.o.Now(), closed: s.closed}
		l.w.log = l
		l.w.enc = encoder{edge: s.o.EdgeID, redact: s.redactor}
		s.logs[id] = l
	}
	return l
}

// Publish replaces what the edge's lock file holds, which is how other commands
// find the edge (E3): the content of its ready-file. On a full disk it succeeds
// later: an edge starts there all the same (E34), and is found once there is room.
func (s *Store) Publish(content []byte) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	return s.publish(content)
}

// publish is Publish; s.publishing is held.
func (s *Store) publish(content []byte) error {
	err := s.lock.publish(content)
	s.unpublished = nil
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
		s.unpublished = content
		s.o.Logger.Warn("other commands cannot find this edge until the disk has room", "error", err)
		return nil
	}
	return fmt.Errorf("publishing the edge: %w", err)
}

// republish tries again to publish what the disk had no room for.
func (s *Store) republish() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.unpublished == nil {
		return
	}
	if err := s.publish(s.unpublished); err != nil {
		s.o.Logger.Warn("the edge could not be published", "error", err)
	}
}

// Owed returns how many records are neither on disk nor told of by a gap on disk.
func (s *Store) Owed() (n int) {
	for _, l := range s.all() {
		n += l.owing()
	}
	return n
}

// Healthy returns nil unless a log owes a gap; then an ErrOwed that names it.
func (s *Store) Healthy() error {
	var faults []error
	for _, l := range s.all() {
		if n := l.owing(); n > 0 {
			faults = append(faults, fmt.Errorf("%w: %d records of session %s", ErrOwed, n, l.id))
		}
	}
	return errors.Join(faults...)
}

func (s *Store) all() []*Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Log, 0, len(s.logs))
	for _, l := range s.logs {
		list = append(list, l)
	}
	return list
}
