package evidence

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// children are what the test binary can do when it runs again as a process of
// its own, for tests that need several writers or one to kill.
var children = map[string]func(args []string) error{
	"write":  childWrite,
	"linger": childLinger,
	"starve": childStarve,
}

// TestMain runs a child instead of the tests when the parent asked for one.
func TestMain(m *testing.M) {
	if name := os.Getenv("EVIDENCE_TEST_CHILD"); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A child is a running process of this test binary.
type child struct {
	*exec.Cmd
	stdout *bufio.Scanner
}

// startChild runs a child, which ends with the test at the latest.
func startChild(t *testing.T, name string, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "EVIDENCE_TEST_CHILD="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &child{cmd, bufio.NewScanner(out)}
}

// says waits for the child's next line and returns what follows prefix in it.
func (c *child) says(t *testing.T, prefix string) string {
	t.Helper()
	if !c.stdout.Scan() {
		t.Fatalf("the child ended before it said %q", prefix)
	}
	rest, ok := strings.CutPrefix(c.stdout.Text(), prefix)
	if !ok {
		t.Fatalf("the child said %q, want %q", c.stdout.Text(), prefix)
	}
	return strings.TrimSpace(rest)
}

// openStore opens a store that the test closes.
func openStore(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}
