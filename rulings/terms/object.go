package terms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/rulings"
)

// maxObject bounds what Object reads into memory. Terms are at most 524,288
// octets; a policy may be longer.
const maxObject = 16 << 20

// ErrDamaged is in the error of Object when what lies under a digest does not
// have it.
var ErrDamaged = errors.New("damaged term object")

// PutObject keeps body under its digest. When it returns without an error the
// object is on disk, and a record may name it (E5, T117). An object is written
// once; only one that is damaged is replaced, unless this book has put it there
// itself of late (see recent). The policy's canonical form is kept as an object
// too. PutObject may be called concurrently, in any number of processes.
func (b *Book) PutObject(body []byte) (rulings.Digest, error) {
	d := rulings.Digest(sha256.Sum256(body))
	if b.objects.has(d) {
		return d, nil
	}
	path := b.objectPath(d)
	err := durable.WriteNew(path, body, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = sameObject(path, body)
	}
	if errors.Is(err, ErrDamaged) {
		err = durable.WriteFile(path, body, 0o600)
	}
	if err != nil {
		return rulings.Digest{}, fmt.Errorf("keeping a term object: %w", err)
	}
	b.objects.add(d)
	return d, nil
}

// sameObject checks that path is a regular file that holds body.
func sameObject(path string, body []byte) error {
	found, err := readRegular(path, int64(len(body)))
	if err == nil && !bytes.Equal(found, body) {
		err = ErrDamaged
	}
	return err
}

// Object returns the octets kept under d. The error is fs.ErrNotExist when
// there are none, and ErrDamaged when they are not the ones that were kept.
func (b *Book) Object(d rulings.Digest) ([]byte, error) {
	body, err := readRegular(b.objectPath(d), maxObject)
	if err == nil && sha256.Sum256(body) != d {
		err = fmt.Errorf("%w: %s", ErrDamaged, d)
	}
	if err != nil {
		b.objects.forget(d) // the next who has the octets writes them
		return nil, fmt.Errorf("reading a term object: %w", err)
	}
	return body, nil
}

func (b *Book) objectPath(d rulings.Digest) string {
	return filepath.Join(b.dir, "objects", hex.EncodeToString(d[:]))
}

// readRegular reads a whole regular file of at most limit octets. Anything else
// under that name (a link, a pipe, a longer file) is none of ours.
func readRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", ErrDamaged, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("%w: %s is longer than %d octets", ErrDamaged, path, limit)
	}
	return body, err
}

// parseDigest reads what Digest.String writes of a digest that is not zero.
func parseDigest(s string) (d rulings.Digest, err error) {
	digits, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(d)) || strings.ToLower(digits) != digits {
		return d, fmt.Errorf("%q is no digest", s)
	}
	_, err = hex.Decode(d[:], []byte(digits))
	return d, err
}
