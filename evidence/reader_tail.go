package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tail judges a last line that has no end. Somebody may be in the middle of
// writing it, so it is read again under a shared lock (E43).
func (r *Reader) tail(ctx context.Context, line []byte, length int64) error {
	unlock, err := awaitWriter(ctx, r.file)
	if errors.Is(err, errStillWriting) && r.o.Mode == ReadForecast {
		r.state.tear = r.tearAt(length)
		r.state.tear.Writing = true
		return io.EOF
	}
	if err != nil {
		return err
	}
	info, err := r.file.Stat()
	unlock()
	if err != nil {
		return err
	}
	if info.Size() != r.state.next.off+length {
		r.use(r.file) // it is whole now, or at least longer
		return nil
	}
	switch r.o.Mode {
	case ReadRepair:
		return r.repair(ctx)
	case ReadRefuse:
		r.state.tear = r.tearAt(length)
		r.take()
		t := r.state.tear
		return &TearError{r.session, *t}
	}
	r.forecast(line, length)
	return io.EOF
}

func (r *Reader) tearAt(length int64) *Tear {
	at := r.state.next
	return &Tear{Segment: at.segment, Line: at.line, Offset: at.off, Bytes: length}
}

// forecast keeps a whole record that lacks its end, and makes a tear of any other
// line. Neither is settled.
func (r *Reader) forecast(line []byte, length int64) {
	settled := r.settled
	if length == int64(len(line)) && r.line.read(line) == "" {
		_ = r.settle(line, length) // it is a record, so there is no fault to return
		r.settled = settled
		return
	}
	r.state.tear = r.tearAt(length)
	r.state.conclude()
	r.take()
}

// repair has the Store mark the torn line as an append would.
func (r *Reader) repair(ctx context.Context) error {
	if err := r.o.Store.Repair(ctx, r.session); err != nil {
		return fmt.Errorf("repairing the log of %s: %w", r.session, err)
	}
	info, err := r.file.Stat()
	if err == nil && info.Size() <= r.state.next.off {
		err = fileFault("the log shrank or was replaced while it was repaired")
	}
	if err != nil {
		return err
	}
	r.use(r.file)
	numbers, err := listSegments(r.dir)
	if err == nil {
		r.numbers = numbers
	}
	return err
}

// A TearError is an unfinished last line where none may be.
type TearError struct {
	Log string
	Tear
}

func (e *TearError) Error() string {
	return fmt.Sprintf("%s: segment %06d, line %d, offset %d: the last line, of %d octets, was cut short and nothing says so",
		e.Log, e.Segment, e.Line, e.Offset, e.Bytes)
}

// errStillWriting says that the lock of a log was not to be had.
var errStillWriting = errors.New("somebody is writing the last line, and has been for five seconds")

// awaitWriter takes the shared lock on f, under which nobody is appending.
func awaitWriter(ctx context.Context, f *os.File) (unlock func(), err error) {
	deadline := time.Now().Add(lockWait)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, err
		case time.Now().After(deadline):
			return nil, errStillWriting
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		time.Sleep(lockPoll)
	}
}

// Repair opens the log of a session as the first record of an edge would, and
// closes it again: what is torn is marked, edges that died are told of (E40), and
// a seal that was cut short is finished (E62).
func (s *Store) Repair(ctx context.Context, session string) error {
	l, err := s.Session(session)
	if err != nil {
		return err
	}
	if _, err := l.Append(ctx); err != nil {
		return err
	}
	return s.CloseSession(ctx, session)
}
