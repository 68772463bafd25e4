package main

import "testing"

func TestE3AListenerOnEveryAddressIsReachedOnLoopback(t *testing.T) {
	for listener, want := range map[string]string{
		"127.0.0.1:3128": "127.0.0.1:3128",
		"0.0.0.0:3128":   "127.0.0.1:3128",
		":3128":          "127.0.0.1:3128",
		"[::]:3128":      "127.0.0.1:3128",
		"[::1]:3128":     "[::1]:3128",
		"10.0.0.1:3128":  "10.0.0.1:3128",
		"edge:3128":      "edge:3128",
	} {
		if got := reachable(listener); got != want {
			t.Errorf("%s is reached at %s, want %s", listener, got, want)
		}
	}
}
