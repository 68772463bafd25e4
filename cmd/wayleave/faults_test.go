//go:build faults

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFaults runs the binary on disks that fail for real: full, read-only, gone.
// It needs root and mount(8), and fails without them.
func TestFaults(t *testing.T) {
	probe := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", probe).CombinedOutput(); err != nil {
		t.Fatalf("these tests mount file systems, and this machine lets them not: %v\n%s", err, out)
	}
	if out, err := exec.Command("umount", probe).CombinedOutput(); err != nil {
		t.Fatalf("umount: %v\n%s", err, out)
	}
	files, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	params := scriptParams("testdata/faults")
	params.Cmds["tmpfs"] = mountTmpfs
	params.Cmds["readonly"] = makeReadOnly
	params.Cmds["writable"] = makeWritable
	testscript.Run(t, params)
}

// mountTmpfs makes a directory a file system of its own: tmpfs DIR SIZE.
func mountTmpfs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tmpfs DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(ts.Exec("mkdir", "-p", dir))
	ts.Check(ts.Exec("mount", "-t", "tmpfs", "-o", "mode=0700,size="+args[1], "tmpfs", dir))
	ts.Defer(func() { exec.Command("umount", "-l", dir).Run() })
}

// makeReadOnly lets nobody write below a directory: readonly DIR. What is open
// stays writable, as it does when a file system is remounted.
func makeReadOnly(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: readonly DIR")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(ts.Exec("mount", "--bind", dir, dir))
	ts.Defer(func() { exec.Command("umount", "-l", dir).Run() })
	ts.Check(ts.Exec("mount", "-o", "remount,bind,ro", dir))
}

// makeWritable takes a readonly back: writable DIR.
func makeWritable(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: writable DIR")
	}
	ts.Check(ts.Exec("umount", ts.MkAbs(args[0])))
}
