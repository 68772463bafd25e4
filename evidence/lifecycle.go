package evidence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// checkName refuses the session id where its log's first record names another
// session, as it does when a file system ignores case (E2). What keeps it from
// reading says nothing about the name; the first append will meet it again.
func (s *Store) checkName(id string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, "sessions", id, segmentName(1)), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	line, _, ended, err := readLine(bufio.NewReader(f), nil)
	if err != nil || !ended {
		return nil
	}
	var first logLine
	if first.read(line) != "" {
		return nil
	}
	return first.nameFault(id)
}

// MayLive reports whether the edge id is alive, or that cannot be told.
func (s *Store) MayLive(id string) bool {
	if !edgeID.MatchString(id) {
		return false // no edge ever had it
	}
	alive, _, err := probeEdge(s.edges(), id)
	if err != nil {
		s.o.Logger.Warn("an edge could not be told alive or dead", "edge", id, "error", err)
	}
	return alive || err != nil
}

// buryDead writes the ends of edges that died into their own logs, which nobody
// else opens, and removes their lock files. An edge whose end could not be
// written keeps its file for the next that starts.
func (s *Store) buryDead(ctx context.Context) {
	ids, err := lockFiles(s.edges())
	if err != nil {
		s.o.Logger.Warn("dead edges could not be looked for", "error", err)
		return
	}
	for _, id := range ids {
		if id == s.o.EdgeID || s.MayLive(id) {
			continue
		}
		if err := s.bury(ctx, id); err != nil {
			s.o.Logger.Warn("the end of a dead edge could not be recorded", "edge", id, "error", err)
			continue
		}
		os.Remove(lockPath(s.edges(), id)) // another edge may have been quicker
	}
}

func (s *Store) bury(ctx context.Context, id string) error {
	if _, err := os.Lstat(filepath.Join(s.dir, "sessions", OwnSessionOf(id))); errors.Is(err, fs.ErrNotExist) {
		return nil // it died before it had written anything
	}
	l := s.log(OwnSessionOf(id))
	if _, err := l.Append(ctx); err != nil {
		return err
	}
	return s.closeLog(ctx, l, closedIdle)
}

// tend closes logs that nobody uses and tries again what failed for want of room
// or for another fault that may pass, until ctx ends.
func (s *Store) tend(ctx context.Context) {
	ticker := time.NewTicker(min(tendEvery, s.o.SessionIdle))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.republish()
		for _, l := range s.all() {
			l.retry()
			if l.idle(s.o.Now(), s.o.SessionIdle) {
				s.closeLog(ctx, l, closedIdle)
			}
		}
	}
}

// retry has the writer try again to write what is owed (E32).
func (l *Log) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owed.owed() || len(l.late) > 0 {
		l.again = true
		l.wake()
	}
}

// idle reports whether the log was not used for as long as limit. One with a
// crossing under way is in use.
func (l *Log) idle(now time.Time, limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active || l.writing || l.open > 0 || l.since.IsZero() {
		l.active, l.since = false, now
		return false
	}
	return now.Sub(l.since) >= limit
}

// CloseSession closes the log of the session id for the operator. A later record
// opens it again. A session that is not open is no error.
func (s *Store) CloseSession(ctx context.Context, id string) error {
	s.mu.Lock()
	l := s.logs[id]
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	return s.closeLog(ctx, l, closedOperator)
}

// closeLog closes l and forgets it. Whoever still holds l may go on using it: it
// sends its records to the store's new log of the session.
func (s *Store) closeLog(ctx context.Context, l *Log, reason string) error {
	if l == s.own {
		return nil
	}
	if err := l.finish(ctx, reason); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.retire() {
		delete(s.logs, l.id)
	}
	return nil
}

// retire takes l out of use unless it is being used again or owes anything.
func (l *Log) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 || l.again || l.open > 0 || l.owed.owed() || l.given > 0 {
		return false
	}
	l.retired = true
	return true
}

// finish appends the record that closes the log: session_closed with a reason, or
// edge_stopped without one.
func (l *Log) finish(ctx context.Context, reason string) error {
	e := l.store.newEntry()
	e.closes = &closing{reason: reason}
	_, err := l.await(ctx, e)
	return err
}

// Close stops the edge: every open log gets what it owes and its edge_stopped,
// and the edge's lock file goes. Records appended from now on are refused. If a
// gap is still owed the answer is an ErrOwed that names the log, and the lock
// file stays, so that the next edge says in the logs that this one did not stop
// cleanly (E41). ctx bounds the waiting for a disk that hangs.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	s.stop()
	s.tending.Wait()
	var g errgroup.Group
	g.SetLimit(8) // syncs of different files share the disk's journal, up to a point
	for _, l := range s.all() {
		g.Go(func() error { return l.stop(ctx) })
	}
	err := g.Wait()
	if owed := s.Healthy(); owed != nil {
		return errors.Join(owed, s.lock.release())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrOwed, err), s.lock.release())
	}
	s.writers.Wait() // each ends as soon as it finds that nothing waits
	if d, ok := s.fs.(*disk); ok && s.o.FS == nil {
		d.sessions.Close() // only read from: there is nothing to lose
	}
	return s.lock.remove()
}

// stop ends this edge's window in the log. What is owed is tried twice (E32).
func (l *Log) stop(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.finish(ctx, "")
	if err != nil {
		err = l.finish(ctx, "")
	}
	return err
}
