package admin

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/internal/durable"
)

// tokenBytes is how many random octets a token stands for.
const tokenBytes = 32

// errToken says that a token is not one that LoadToken would make.
var errToken = errors.New("the admin token is not 32 random octets in base64url; delete the file and a new one is made")

// LoadToken returns the admin token kept at path and makes it at the first start
// (A1). Edges that start together agree on one. A file that others than its
// owner may use is an error, and so is one that does not hold a random token:
// an empty or a sample value never becomes a password.
func LoadToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	fresh := make([]byte, tokenBytes)
	rand.Read(fresh) // never fails
	token = base64.RawURLEncoding.EncodeToString(fresh)
	err = durable.WriteNew(path, []byte(token), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return readToken(path) // another edge was first
	}
	if err != nil {
		return "", fmt.Errorf("making the admin token: %w", err)
	}
	return token, nil
}

// readToken reads the file through no link, and never waits on a FIFO.
func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s must be a regular file that only its owner may use (mode 0600), it is %v", path, info.Mode())
	}
	content, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return "", fmt.Errorf("reading the admin token: %w", err)
	}
	token := string(bytes.TrimSuffix(content, []byte("\n")))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return token, nil
}

// checkToken refuses whatever cannot have come from LoadToken. Of 32 random
// octets about 30 differ; fewer than 16 happens in no lifetime, but in samples.
func checkToken(token string) error {
	octets, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The length too: the decoder passes over line ends.
	if err != nil || len(octets) != tokenBytes || len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return errToken
	}
	distinct := make(map[byte]bool)
	for _, b := range octets {
		distinct[b] = true
	}
	if len(distinct) < tokenBytes/2 {
		return errToken
	}
	return nil
}
