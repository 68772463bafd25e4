package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal of 100 columns.
func openTerminal(t *testing.T) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if err := unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return far, near
}

// The first request of the command goes at once, the second waits for its turn,
// which the terminal tells until then.
func TestA19RunShowsOnATerminalWhatItWaitsFor(t *testing.T) {
	far, near := openTerminal(t)
	dumb := &cli{getenv: func(string) string { return "dumb" }, stderr: near}
	if _, ok := dumb.terminalLine(); ok {
		t.Error("a terminal that cannot erase is written to")
	}
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(far) // the end of the other side is an error here
		shown <- string(text)
	}()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 8\n")
		}
	}))
	defer site.Close()
	config := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(config, []byte("data: data\npolicy: {allow_private: [127.0.0.0/8]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"TERM": "xterm"}[name] }
	code := run(t.Context(), []string{"run", "--config", config, "--", "fetch", site.URL + "/1", site.URL + "/2"}, env, http.NoBody, io.Discard, near)
	near.Close()
	text := <-shown
	_, after, ok := strings.Cut(text, eraseLine+"wayleave: waiting for 127.0.0.1 until ")
	_, after, removed := strings.Cut(after, "(its Crawl-delay)"+eraseLine)
	if code != 0 || !ok || !removed || !strings.Contains(after, eraseLine+"wayleave: 2 delivered, 0 refused") && !strings.HasPrefix(after, "wayleave: 2 delivered, 0 refused") {
		t.Errorf("exit code %d, the terminal shows %q", code, text)
	}
}
