package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wayleave/wayleave/evidence"
)

// Several processes may issue at once: no token is lost, and each opens its own
// session only.
func TestN20TokensIssuedAtOnceAreAllKept(t *testing.T) {
	name := filepath.Join(t.TempDir(), "credentials.json")
	const handles, each = 3, 8
	var mu sync.Mutex
	tokens := make(map[string]string)
	var issuers sync.WaitGroup
	for h := range handles {
		c, err := OpenCredentials(name) // as a process of its own would
		must(t, err)
		for n := range each {
			issuers.Go(func() {
				session := fmt.Sprintf("s-%d-%d", h, n)
				token, err := c.Issue(session)
				if err != nil || !c.Check(session, token) {
					t.Errorf("%s: %v", session, err)
				}
				mu.Lock()
				defer mu.Unlock()
				tokens[session] = token
			})
		}
	}
	issuers.Wait()
	c, err := OpenCredentials(name)
	must(t, err)
	for session, token := range tokens {
		for other := range tokens {
			if c.Check(other, token) != (other == session) {
				t.Errorf("the token of %s opens %s: %v", session, other, other != session)
			}
		}
	}
	list, err := c.List()
	must(t, err)
	if len(list) != handles*each || !slices.IsSortedFunc(list, bySession) {
		t.Errorf("listed are %v", list)
	}
}

func TestN20NoTokenIsIssuedToWhatIsNoSession(t *testing.T) {
	name := filepath.Join(t.TempDir(), "credentials.json")
	c, err := OpenCredentials(name)
	must(t, err)
	for _, session := range []string{"", ".", "..", "a/b", "a b", "é", "a:b", strings.Repeat("a", 129)} {
		if _, err := c.Issue(session); !errors.Is(err, evidence.ErrSessionInvalid) {
			t.Errorf("%q: %v", session, err)
		}
		if c.Check(session, "") {
			t.Errorf("%q is let in without a token", session)
		}
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file of no tokens: %v", err)
	}
	if list, err := c.List(); err != nil || len(list) != 0 {
		t.Errorf("listed are %v, %v", list, err)
	}
}

// What cannot be read is not written over: its tokens would be gone.
func TestN20ADamagedFileIsLeftAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		mode    fs.FileMode
	}{
		"cut short":               {`[{"session":"a","sha256":"`, 0o600},
		"another shape":           {`{"session":"a"}`, 0o600},
		"empty":                   {"", 0o600},
		"readable by the group":   {"[]", 0o640},
		"writable by everybody":   {"[]", 0o602},
		"readable by the machine": {"[]", 0o604},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "credentials.json")
			creds, err := OpenCredentials(file)
			must(t, err)
			must(t, os.WriteFile(file, []byte(c.content), 0o600))
			must(t, os.Chmod(file, c.mode))
			if _, err := creds.Issue("agent-7"); err == nil {
				t.Error("a token was issued")
			}
			if _, err := creds.List(); err == nil {
				t.Error("it was listed")
			}
			if _, err := OpenCredentials(file); err == nil {
				t.Error("it was opened")
			}
			if creds.Check("a", "") || creds.Check("", "") {
				t.Error("somebody is let in")
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != c.content {
				t.Errorf("the file now holds %q, %v", data, err)
			}
		})
	}
}

// A record without a sum, which nobody issued, opens for no token.
func TestN20ACredentialWithoutASumOpensNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	must(t, os.WriteFile(file, []byte(`[{"session":"a"},{"session":"b","sha256":"x"},null]`), 0o600))
	c, err := OpenCredentials(file)
	must(t, err)
	for _, session := range []string{"a", "b", "", "c"} {
		for _, token := range []string{"", "x"} {
			if c.Check(session, token) {
				t.Errorf("%q opens %q", token, session)
			}
		}
	}
}
