package main

import (
	"testing"
	"time"
)

// testRoot is a certificate in PEM form.
func testRoot(t *testing.T) []byte {
	t.Helper()
	ca, err := newDemoCA(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca.pem
}
