package main

import (
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// limitDescriptors lets the background commands of a name open no descriptor
// numbered N or above: limit COMMAND N. What they have open stays.
func limitDescriptors(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: limit COMMAND N")
	}
	n, err := strconv.ParseUint(args[1], 10, 16)
	ts.Check(err)
	for _, cmd := range ts.BackgroundCmds() {
		if filepath.Base(cmd.Path) != args[0] {
			continue
		}
		var old unix.Rlimit
		ts.Check(unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &old))
		ts.Check(unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: old.Max}, nil))
	}
}
