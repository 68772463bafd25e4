//go:build clients

// Package clients drives the HTTP clients that agents use through the real
// binary, set up as `wayleave env` says, against real HTTPS origins on loopback
// (N5, N24). It consists of tests only, behind the build tag clients: they need
// the programs that install.sh installs, and a program that is missing is a
// failure, since a client nobody drove is a promise nobody checked.
package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience ends a client that hangs. Nothing is asserted about time: a test that
// meets this limit has failed already.
const patience = time.Minute

// built are the programs that TestMain builds, and the directory they are in.
var built struct {
	dir      string
	wayleave string
	goClient string
}

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wayleave-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built.dir = dir
	built.wayleave, built.goClient = filepath.Join(dir, "wayleave"), filepath.Join(dir, "client")
	for binary, source := range map[string]string{
		built.wayleave: "github.com/wayleave/wayleave/cmd/wayleave",
		built.goClient: filepath.Join("testdata", "client.go"),
	} {
		if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", source, err, out)
			return 1
		}
	}
	return m.Run()
}

// program returns the path of a client, and fails the test with the name of the
// Debian package to install when there is none.
func program(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: run internal/clients/install.sh, or apt-get install %s", name, pkg)
	}
	return path
}

// python returns the interpreter itself: what stands on PATH may be a script of
// a version manager, which looks for its versions in the caller's HOME.
func python(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(program(t, "python3", "python3"), "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// cargo returns the program itself, for the same reason. Registries over HTTP
// came with 1.68.
func cargo(t *testing.T) string {
	t.Helper()
	program(t, "cargo", "cargo or cargo-web")
	sysroot, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(sysroot)), "bin", "cargo")
	var major, minor int
	version := output(t, nil, path, "--version")
	if _, err := fmt.Sscanf(version, "cargo %d.%d.", &major, &minor); err != nil {
		t.Fatalf("%s --version printed %q: %v", path, version, err)
	}
	if major == 1 && minor < 68 {
		t.Fatalf("%s is too old, 1.68 is the first that will do: run internal/clients/install.sh, or apt-get install cargo-web", version)
	}
	return path
}

// node returns a Node that reads NODE_USE_ENV_PROXY, as install.sh leaves it.
func node(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WAYLEAVE_CLIENTS_DIR")
	if dir == "" {
		dir = filepath.Join(os.Getenv("HOME"), ".cache", "wayleave-clients")
	}
	path := filepath.Join(dir, "node_modules", "node", "bin", "node")
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatalf("no Node in %s (%v): run internal/clients/install.sh, or npm install --prefix %[1]s node@22", dir, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d.", &major, &minor); err != nil {
		t.Fatalf("%s --version printed %q: %v", path, out, err)
	}
	if major < 22 || major == 22 && minor < 21 || major == 23 {
		t.Fatalf("%s is %s; NODE_USE_ENV_PROXY came with 22.21 and 24.0: npm install --prefix %s node@22", path, out, dir)
	}
	return path
}

// compileJava compiles the client once: a JVM that compiles at each start takes
// many times as long as the request.
var compileJava = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("javac", "-d", built.dir, filepath.Join("testdata", "Client.java")).CombinedOutput()
})

// java returns the command that runs the client in Java.
func java(t *testing.T) []string {
	t.Helper()
	program(t, "javac", "default-jdk-headless")
	if out, err := compileJava(); err != nil {
		t.Fatalf("compiling Client.java: %v\n%s", err, out)
	}
	return []string{program(t, "java", "default-jdk-headless"), "-XX:TieredStopAtLevel=1", "-cp", built.dir, "Client"}
}

// command makes a command that the test's end or patience ends, with everything
// that it started. Its environment is the given one behind what no program can
// do without; HOME is empty, so that nobody's settings decide a test.
func command(t *testing.T, env []string, argv ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return commandWithin(ctx, t, env, argv...)
}

// commandWithin is command with an end of its own.
func commandWithin(ctx context.Context, t *testing.T, env []string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir()}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// output runs a command that must succeed and returns what it printed, standard
// error included.
func output(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	out, err := command(t, env, argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}
