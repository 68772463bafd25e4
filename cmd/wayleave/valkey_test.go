//go:build valkey

// These tests need a server, which they start:
//
//	apt-get install -y valkey-server || apt-get install -y redis-server
//	go test -tags valkey ./cmd/wayleave -run Valkey

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestValkeyP47 runs the binary over a server that keeps the pace. Each script
// has one of its own, at $STORE.
func TestValkeyP47(t *testing.T) {
	program, err := valkeyProgram()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/valkey/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	params := scriptParams("testdata/valkey")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		s := &valkeyServer{program: program, dir: env.WorkDir}
		if err := s.start(); err != nil {
			return err
		}
		env.Defer(s.stop)
		env.Setenv("STORE", "redis://"+s.addr)
		env.Values[serverKey{}] = s
		return setup(env)
	}
	params.Cmds["server"] = commandServer
	testscript.Run(t, params)
}

// valkeyProgram finds a server to start.
func valkeyProgram() (string, error) {
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no server to test with: apt-get install -y valkey-server, or redis-server where there is none")
}

// serverKey is where a script's server stands among its values.
type serverKey struct{}

// commandServer stops the script's server, or starts it again with what it wrote
// down: server stop|start.
func commandServer(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(serverKey{}).(*valkeyServer)
	switch strings.Join(args, " ") {
	case "stop":
		s.stop()
	case "start":
		ts.Check(s.start())
	default:
		ts.Fatalf("usage: server stop|start")
	}
}

// A valkeyServer is a Valkey or Redis server of a script.
type valkeyServer struct {
	program, dir string
	addr         string // kept over a stop
	cmd          *exec.Cmd
}

// start starts the server and waits until it takes connections.
func (s *valkeyServer) start() error {
	if s.addr == "" { // none that another process could be given while the server is stopped
		s.addr = fmt.Sprintf("127.79.%d.%d:6379", os.Getpid()>>8&0xff, os.Getpid()&0xff)
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	s.cmd = exec.Command(s.program, "--bind", host, "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "no") // so that no answer is before its write
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return nil
		}
	}
	s.stop()
	return errors.New("the server did not start: " + s.program)
}

// stop ends the server as a crash would.
func (s *valkeyServer) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
