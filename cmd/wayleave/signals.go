package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A relay collects signals from when it is made until stop, so that none is lost
// or ends this process between two uses.
type relay struct{ signals chan os.Signal }

func relaySignals(which ...os.Signal) relay {
	r := relay{make(chan os.Signal, 16)}
	signal.Notify(r.signals, which...)
	return r
}

func (r relay) stop() { signal.Stop(r.signals) }

// during calls handle for each signal that has come or comes while do runs.
func (r relay) during(do func(), handle func(os.Signal)) {
	done := make(chan struct{})
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			select {
			case s := <-r.signals:
				handle(s)
			case <-done:
				return
			}
		}
	})
	do()
	close(done)
	handling.Wait()
}

// fromTerminal reports whether the terminal has sent s to a child as well: it
// sends what is typed to every process of the foreground group, and a second
// Ctrl-C means something else to many programs.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCode is what a shell makes of how a process ended: its code, or 128 and
// the number of the signal that ended it.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
