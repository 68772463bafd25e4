//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// limitDescriptors is for Linux; scripts ask [linux] before they use it.
func limitDescriptors(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("only Linux has it") }
