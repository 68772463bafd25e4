package certs

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestN22_AStartBehindOneThatHangsSaysWhichFileIsHeld(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir, time.Millisecond); err == nil {
		t.Fatal("the lock was given twice")
	} else if !strings.Contains(err.Error(), filepath.Join(dir, lockName)) {
		t.Errorf("error %q does not name the lock file", err)
	}
	unlock()
	again, err := lock(dir, time.Minute)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	again()
}
