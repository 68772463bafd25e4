package proxy

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// paceOfAnother names, to a child of the test below, the directory in which it
// finds a lock that it may not open.
const paceOfAnother = "PACE_OF_ANOTHER_USER"

// A run under another user leaves a lock that this one cannot open: the agent is
// told that it is the edge's fault, the record names file and owner, other hosts
// work, and so does this one when the file is gone (P38; case B21). Root can open
// everything, so it runs the test again as somebody else.
func TestP38_ALockOfAnotherUser(t *testing.T) {
	if data := os.Getenv(paceOfAnother); data != "" {
		lockedOut(t, data, 0)
		return
	}
	data := filepath.Join(t.TempDir(), "data")
	must(t, os.MkdirAll(filepath.Join(data, "backoff"), 0o700))
	lock := filepath.Join(data, "backoff", "slow.test.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	if os.Getuid() != 0 {
		must(t, os.Chmod(lock, 0))
		lockedOut(t, data, os.Getuid())
		return
	}
	const nobody = 65534
	must(t, os.Chown(data, nobody, nobody))
	must(t, os.Chown(filepath.Join(data, "backoff"), nobody, nobody))
	for dir := filepath.Dir(data); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	temp := filepath.Join(filepath.Dir(data), "tmp")
	must(t, os.Mkdir(temp, 0o755))
	must(t, os.Chown(temp, nobody, nobody))
	own := copyOf(t, os.Args[0], filepath.Join(filepath.Dir(data), "proxy.test"))
	cmd := exec.CommandContext(t.Context(), own, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), paceOfAnother+"="+data, "TMPDIR="+temp, "HOME="+temp)
	cmd.Dir = temp
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// copyOf copies a program to where anybody can run it.
func copyOf(t *testing.T, from, to string) string {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	return to
}

// lockedOut asks a host whose lock belongs to owner.
func lockedOut(t *testing.T, data string, owner int) {
	w := startWeb(t)
	for _, h := range []string{"slow.test", "other.test"} {
		w.host(h, "User-agent: *\nCrawl-delay: 0.01\n", nil)
	}
	e := w.edge(edgeSetup{data: data, pace: backoff.Config{MaxWait: 20 * time.Second}})
	for range 2 {
		resp, body := e.gets("", "http://slow.test/page")
		r := e.final("slow.test/page")
		toldOfStore(t, resp, body, toldNotSent+toldLock, r)
		lock := filepath.Join(data, "backoff", "slow.test.lock")
		detail := strings.Join(r.list("gaps", "detail"), "")
		for _, part := range []string{lock + " ", fmt.Sprintf("its owner is uid %d ", owner), remedyLock} {
			if !strings.Contains(detail, part) {
				t.Errorf("the gap says %q, and not %q", detail, part)
			}
		}
		r.want(t, map[string]any{"refusal.reason": "pacing_store", "refusal.whose": "edge"})
		if resp, body := e.gets("", "http://other.test/page"); resp.StatusCode != 200 {
			t.Errorf("another host: %s %s", resp.Status, body)
		}
	}
	w.wantAsked(t, "slow.test", "/robots.txt")
	must(t, os.Remove(filepath.Join(data, "backoff", "slow.test.lock")))
	if resp, body := e.gets("", "http://slow.test/repaired"); resp.StatusCode != 200 {
		t.Errorf("after repair: %s %s", resp.Status, body)
	}
}
