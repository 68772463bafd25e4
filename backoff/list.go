package backoff

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// A Lister is a Store that can tell which hosts it keeps a state of.
type Lister interface {
	// Hosts yields the keys of these hosts, each once, in no order. It takes no
	// lock: a host whose state comes or goes meanwhile may be yielded or not. It
	// ends with a *StoreError, or the context's error, which it yields beside an
	// empty key. A state that cannot be read is yielded if its host is known.
	Hosts(ctx context.Context) iter.Seq2[string, error]
}

var _ Lister = (*FileStore)(nil)

// A directory is an FS that can tell which files it has.
type directory interface {
	// Names calls each with the name of every file, until that answers false.
	Names(each func(name string) bool) error
}

// namesAtOnce bounds the names of files that are held in memory.
const namesAtOnce = 512

// Names implements directory.
func (d disk) Names(each func(name string) bool) error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, name := range names {
			if !each(name) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Hosts implements Lister. A directory that is not there has no hosts.
func (s *FileStore) Hosts(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dir, ok := s.fs.(directory)
		if !ok {
			yield("", &StoreError{Fault: FaultUnknown, Path: s.dir, Err: errors.ErrUnsupported})
			return
		}
		going := true
		err := dir.Names(func(name string) bool {
			if going = ctx.Err() == nil; !going {
				yield("", ctx.Err())
				return false
			}
			if host, ok := s.hostOf(name); ok {
				going = yield(host, nil)
			}
			return going
		})
		if err != nil && !isMissing(err) && going {
			yield("", &StoreError{Fault: StateUnreadable, Path: s.dir, Err: err})
		}
	}
}

// hostOf returns the host whose state the file name holds. Nearly always the
// name tells it; a long host's stands in the file alone.
func (s *FileStore) hostOf(file string) (host string, ok bool) {
	name, ok := strings.CutSuffix(file, stateFile)
	if !ok {
		return "", false
	}
	if host, ok = unescapeName(name); ok && FileName(host) == name {
		return host, isKey(host)
	}
	data, err := s.fs.Read(file)
	if err != nil || len(data) > maxState {
		return "", false
	}
	var stored struct{ Host string }
	if json.Unmarshal(data, &stored) != nil || FileName(stored.Host) != name {
		return "", false
	}
	return stored.Host, isKey(stored.Host)
}

func isKey(host string) bool {
	key, err := hostkey.Key(host)
	return err == nil && key == host
}

// unescapeName undoes escapeName.
func unescapeName(name string) (string, bool) {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+2 >= len(name) {
			return "", false
		}
		high, low := strings.IndexByte(digits, name[i+1]), strings.IndexByte(digits, name[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}
