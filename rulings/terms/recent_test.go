package terms

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// Nothing under objects/ is touched for an object that is known to be there: the
// directory is away, so that any system call would fail.
func TestT117AnObjectKnownToBeOnDiskIsNotLookedAt(t *testing.T) {
	b := newWorld(t).open(t.TempDir())
	want, err := b.PutObject([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	unblock := block(t, b.dir, "objects")
	if d, err := b.PutObject([]byte(rules)); err != nil || d != want {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := b.PutObject([]byte(rules + "#")); err == nil {
		t.Error("an object that is not known was put without a directory")
	}
	unblock()
	if _, err := b.PutObject([]byte(rules + "#")); err != nil {
		t.Errorf("an object that could not be put once: %v", err)
	}
}

// A loss that is met is made good by the next who has the octets.
func TestT117AnObjectMetAsLostIsWrittenAgain(t *testing.T) {
	b := newWorld(t).open(t.TempDir())
	d, err := b.PutObject([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	remove(t, objectOf(b.dir, rules))
	if _, err := b.Object(d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := b.PutObject([]byte(rules)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "objects")); err != nil {
		t.Error(err)
	}
	if body, err := b.Object(d); err != nil || string(body) != rules {
		t.Errorf("%q, %v", body, err)
	}
}

func TestRecentIsBoundedAndForgetsWhatWasNotAskedFor(t *testing.T) {
	digest := func(i int) rulings.Digest {
		return sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	var r recent
	for i := range 3 * maxRecent {
		r.add(digest(i))
		if !r.has(digest(0)) {
			t.Fatalf("what is asked for all the time was forgotten after %d", i)
		}
		if n := len(r.young) + len(r.old); n > maxRecent {
			t.Fatalf("%d are remembered", n)
		}
	}
	if r.has(digest(1)) || !r.has(digest(3*maxRecent-1)) {
		t.Error("the oldest is remembered, or the newest is not")
	}
	r.forget(digest(0))
	if r.has(digest(0)) {
		t.Error("what was to be forgotten is remembered")
	}
}
