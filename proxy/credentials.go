package proxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

// Credentials are the tokens issued to sessions (N20), kept hashed in one file
// that the commands and the edges of a data directory share. Its methods are
// safe for concurrent use.
type Credentials struct {
	path string

	// mu guards what was last read from the file and when it was that.
	mu     sync.Mutex
	issued map[string]Issued
	seen   fs.FileInfo
}

// Issued is one session's credential as it is kept: the token's SHA-256, never
// the token. Tokens carry 256 random bits, so a plain hash cannot be guessed back.
type Issued struct {
	Session  string    `json:"session"`
	SHA256   string    `json:"sha256"`
	IssuedAt time.Time `json:"issued_at"`
}

// OpenCredentials reads the credentials at path. A file that is not there holds
// none; one that others may read is refused.
func OpenCredentials(path string) (*Credentials, error) {
	c := &Credentials{path: path}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.refresh()
}

// Issue makes a new token for session, in place of an earlier one, and returns
// it. It is on disk, hashed, when Issue returns, in a directory that need not exist
// before.
func (c *Credentials) Issue(session string) (token string, err error) {
	if !evidence.ValidSession(session) {
		return "", evidence.ErrSessionInvalid
	}
	if err := durable.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return "", fmt.Errorf("making the directory of credentials: %w", err)
	}
	lock := flock.New(filepath.Join(filepath.Dir(c.path), "."+filepath.Base(c.path)+".lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("locking credentials: %w", err)
	}
	defer lock.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil {
		return "", err
	}
	var raw [32]byte
	rand.Read(raw[:])
	token = base64.RawURLEncoding.EncodeToString(raw[:])
	sum := sha256.Sum256([]byte(token))
	next := maps.Clone(c.issued)
	if next == nil {
		next = make(map[string]Issued)
	}
	next[session] = Issued{session, hex.EncodeToString(sum[:]), time.Now().UTC().Truncate(time.Millisecond)}
	data, err := json.MarshalIndent(slices.SortedFunc(maps.Values(next), bySession), "", "  ")
	if err != nil {
		return "", err
	}
	if err := durable.WriteFile(c.path, append(data, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("writing credentials: %w", err)
	}
	return token, c.refresh()
}

// Check reports whether token was issued to session. It sees tokens that
// another process issued since. An error reading the file is no.
func (c *Credentials) Check(session, token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refresh() != nil {
		return false
	}
	sum := sha256.Sum256([]byte(token))
	want := c.issued[session].SHA256
	return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(want)) == 1
}

// List returns what was issued, by session.
func (c *Credentials) List() ([]Issued, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(c.issued), bySession), nil
}

func bySession(a, b Issued) int {
	if a.Session < b.Session {
		return -1
	}
	if a.Session > b.Session {
		return 1
	}
	return 0
}

// refresh reads the file again when it is not the one last read. mu is held.
func (c *Credentials) refresh() error {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		c.issued, c.seen = nil, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading credentials: %w", err)
	}
	if c.seen != nil && os.SameFile(info, c.seen) && info.ModTime().Equal(c.seen.ModTime()) && info.Size() == c.seen.Size() {
		return nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be read by others: run chmod 600 on it", c.path)
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("reading credentials: %w", err)
	}
	var list []Issued
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("reading credentials: %w", err)
	}
	c.issued = make(map[string]Issued, len(list))
	for _, i := range list {
		c.issued[i.Session] = i
	}
	c.seen = info
	return nil
}
