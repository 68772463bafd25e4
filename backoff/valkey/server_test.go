//go:build valkey

// These tests need a server, which they start:
//
//	apt-get install -y valkey-server || apt-get install -y redis-server
//	go test -tags valkey ./backoff/valkey

package valkey

import (
	"bufio"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// A server is a running one, with nothing in it.
type server struct {
	url string
	cmd *exec.Cmd
}

// startServer starts a server on a free port of the loopback, which ends with the
// test.
func startServer(t testing.TB, options ...string) *server {
	t.Helper()
	return startServerAt(t, freePort(t), options...)
}

// freePort returns a port of the loopback that no system gives away by itself.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			must(t, l.Close())
			return port
		}
	}
}

func startServerAt(t testing.TB, port string, options ...string) *server {
	t.Helper()
	name := "valkey-server"
	if _, err := exec.LookPath(name); err != nil {
		name = "redis-server"
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Fatal("no server to test with: apt-get install -y valkey-server, or redis-server where there is none")
	}
	args := append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(), "--save", "", "--appendonly", "no"}, options...)
	cmd := exec.Command(name, args...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	s := &server{"redis://127.0.0.1:" + port, cmd}
	t.Cleanup(s.stop)
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return s
		}
	}
	t.Fatalf("%s does not start: %s", name, strings.Join(said, "\n"))
	return nil
}

// stop ends the server as a crash would.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// open opens the store at url, which ends with the test.
func open(t testing.TB, url string, c backoff.Config) *Store {
	t.Helper()
	if c.LockWait == 0 {
		c.LockWait = time.Minute // how long the server takes is not what is tested
	}
	s, err := Open(url, c)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// subject returns a store on an emptied server whose clock the test sets.
func (s *server) subject(t *testing.T) backofftest.Subject {
	store := open(t, s.url, backoff.Config{})
	must(t, store.client.FlushAll(t.Context()).Err())
	now := backofftest.Start
	store.clock = func() time.Time { return now }
	return backofftest.Subject{
		Store:  store,
		SetNow: func(t time.Time) { now = t },
		Plant:  func(t testing.TB, state backoff.State) { plant(t, store, fieldsOf(t, state)) },
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
