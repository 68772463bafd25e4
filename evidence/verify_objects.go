package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/wayleave/wayleave/rulings"
)

// Why an object cannot be used.
var (
	errObjectMissing = errors.New("the object is not there")
	errObjectUntrue  = errors.New("the object is not what its name says")
	errObjectUnread  = errors.New("the object cannot be read")
)

// An objectCheck looks at term objects, each once however many logs name it. It
// may be used by any number of goroutines.
type objectCheck struct {
	dir string // empty: there is none

	mu   sync.Mutex
	seen map[rulings.Digest]error
}

func newObjectCheck(dir string) *objectCheck {
	return &objectCheck{dir: dir, seen: make(map[rulings.Digest]error)}
}

// check returns nil when the object d is there and true to its name.
func (c *objectCheck) check(d rulings.Digest) error {
	c.mu.Lock()
	err, known := c.seen[d]
	c.mu.Unlock()
	if known {
		return err
	}
	_, err = c.read(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[d] = err
	return err
}

// maxObjectBytes is more than any object has; a longer file is none.
const maxObjectBytes = 16 << 20

// read returns the octets of the object d.
func (c *objectCheck) read(d rulings.Digest) ([]byte, error) {
	if c.dir == "" {
		return nil, errObjectMissing
	}
	path := filepath.Join(c.dir, hex.EncodeToString(d[:]))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errObjectMissing
	case err != nil:
		return nil, errObjectUnread
	case !info.Mode().IsRegular():
		return nil, errObjectUntrue
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errObjectUnread
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxObjectBytes+1))
	switch {
	case err != nil:
		return nil, errObjectUnread
	case len(body) > maxObjectBytes, sha256.Sum256(body) != d:
		return nil, errObjectUntrue
	}
	return body, nil
}

// nameObjects checks every object that the record in v.line names (E5).
func (v *logVerifier) nameObjects() {
	l := &v.line
	if v.objects == nil {
		return
	}
	v.nameObject(l.member("policy_digest"))
	v.nameObject(l.member("object"))
	if refusal := l.member("refusal"); refusal != nil {
		v.nameObject(memberOf(memberOf(refusal, "term"), "object"))
	}
	for name, list := range membersOf(l.member("declarations")) {
		if n := string(name); n != "terms" && n != "statements" {
			continue
		}
		for item := range itemsOf(list) {
			v.nameObject(memberOf(item, "object"))
		}
	}
}

// checkObject is objectCheck.check; the policy of a run lies beside its log too.
func (v *logVerifier) checkObject(d rulings.Digest) error {
	err := v.objects.check(d)
	if err != nil && !errors.Is(err, errObjectUntrue) && v.policy != nil && digestOfBytes(v.policy) == d {
		return nil
	}
	return err
}

// readObject returns the octets of the object d.
func (v *logVerifier) readObject(d rulings.Digest) ([]byte, error) {
	body, err := v.objects.read(d)
	if err != nil && v.checkObject(d) == nil {
		return v.policy, nil
	}
	return body, err
}

// nameObject checks the object whose digest raw holds, once for each log.
func (v *logVerifier) nameObject(raw []byte) {
	if raw == nil || v.named[string(raw)] {
		return
	}
	v.named[string(raw)] = true
	name := readText(raw)
	d, ok := readDigest(name)
	if !ok {
		v.fault(v.at, "it names an object by what is no digest")
		return
	}
	switch err := v.checkObject(d); {
	case err == nil:
	case errors.Is(err, errObjectUntrue):
		v.fault(v.at, err.Error()+": "+name)
	default:
		v.doubt(v.at, err.Error()+": "+name)
	}
}

// readDigest reads what Digest.String writes of a digest that is not zero.
func readDigest(s string) (d rulings.Digest, ok bool) {
	digits, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(d)) || strings.ToLower(digits) != digits {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(digits))
	return d, err == nil && d != (rulings.Digest{})
}
