//go:build clients

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCodesOverCurl runs the scripts of the reason codes with curl in place of
// the client of these tests. With -v it prints what curl received.
func TestCodesOverCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("curl is not installed: run internal/clients/install.sh, or apt-get install curl")
	}
	files, err := filepath.Glob("testdata/script/codes_*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	params := scriptParams("")
	params.Files = files
	// Paths are sent as they are written, and nothing in a URL is a pattern.
	params.Cmds["get"] = getWith(curl, "--silent", "--show-error", "--include", "--suppress-connect-headers", "--path-as-is", "--globoff")
	testscript.Run(t, params)
}
