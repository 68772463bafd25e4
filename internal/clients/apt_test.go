//go:build clients

package clients

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packages makes a flat repository of one package in dir, and returns the
// package.
func packages(t *testing.T, dir string) []byte {
	t.Helper()
	tree := t.TempDir()
	control := "Package: sample\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: a sample\n"
	writeFiles(t, tree, map[string][]byte{"DEBIAN/control": []byte(control), "usr/share/sample": noise(1<<20, "apt")})
	file := filepath.Join(dir, "sample_1.0_all.deb")
	output(t, nil, program(t, "dpkg-deb", "dpkg"), "--build", "--root-owner-group", tree, file)
	built, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprintf("%sFilename: ./sample_1.0_all.deb\nSize: %d\nSHA256: %x\n", control, len(built), sha256.Sum256(built))
	writeFiles(t, dir, map[string][]byte{"Packages": []byte(index)})
	return built
}

// aptIn returns apt-get with a root of its own that knows one repository. apt
// alone takes its trust from no variable.
func aptIn(t *testing.T, e *edge, root, repository string) []string {
	t.Helper()
	writeFiles(t, root, map[string][]byte{
		"etc/apt/sources.list":                 []byte("deb [trusted=yes] " + repository + " ./\n"),
		"etc/apt/preferences.d/none":           nil,
		"var/lib/dpkg/status":                  nil,
		"var/lib/apt/lists/partial/.keep":      nil,
		"var/cache/apt/archives/partial/.keep": nil,
	})
	return []string{
		program(t, "apt-get", "apt"), "--option", "Dir=" + root, "--option", "APT::Sandbox::User=", "--option", "Acquire::Retries=0",
		"--option", "Acquire::https::CAInfo=" + e.bundle(), "--option", "APT::Update::Error-Mode=any",
	}
}

func TestN5AptUpdatesDownloadsAndIsRefused(t *testing.T) {
	dir, a := t.TempDir(), newAuthority(t)
	built := packages(t, dir)
	site := http.NewServeMux()
	site.HandleFunc("GET /robots.txt", text("text/plain", robotsText))
	site.Handle("GET /debian/", http.StripPrefix("/debian/", http.FileServer(http.Dir(dir))))
	secure := startOrigin(t, &a, "localhost", "127.0.0.1", site)
	plain := startOrigin(t, nil, "localhost", "127.0.0.1", site)
	e := startEdge(t, a)
	for name, o := range map[string]*origin{"over HTTPS": secure, "over plain HTTP": plain} {
		t.Run(name, func(t *testing.T) {
			env := pairs(e.env(t, sessionName(t)))
			apt, where := aptIn(t, e, t.TempDir(), o.url+"/debian/"), t.TempDir()
			output(t, env, append(apt, "update")...)
			download := command(t, env, append(apt, "download", "sample")...)
			download.Dir = where
			if out, err := download.CombinedOutput(); err != nil {
				t.Fatalf("apt-get download: %v\n%s", err, out)
			}
			expectFile(t, filepath.Join(where, "*.deb"), built)
			expectRefused(t, env, append(aptIn(t, e, t.TempDir(), o.url+"/private/"), "update")...)
			if got := e.records(t, sessionName(t), "crossing_"); len(got) == 0 || !strings.Contains(strings.Join(got, ""), "robots_disallow") {
				t.Errorf("the session's log has %d crossings, and no refusal", len(got))
			}
		})
	}
}
