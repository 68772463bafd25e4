//go:build clients

package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitHandler serves the bare repositories under root as git's own server does,
// and anything else with a robots.txt that keeps secret.git closed.
func gitHandler(t *testing.T, root string) http.Handler {
	t.Helper()
	git := program(t, "git", "git")
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env:    []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root, "REMOTE_USER=somebody"},
		Stderr: io.Discard,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /secret.git/\n"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		// CGI wants to know the length, which a push does not tell.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		backend.ServeHTTP(w, r)
	})
	return mux
}

// newRepository makes a bare repository with one commit of the given files, and
// lets everybody push.
func newRepository(t *testing.T, root, name string, files map[string][]byte) {
	t.Helper()
	git, bare, work := program(t, "git", "git"), filepath.Join(root, name), t.TempDir()
	output(t, nil, git, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	output(t, nil, git, "-C", bare, "config", "http.receivepack", "true")
	output(t, nil, git, "clone", "--quiet", bare, work)
	commit(t, work, files)
	output(t, nil, git, "-C", work, "push", "--quiet", "origin", "HEAD:main")
}

// commit adds files to a work tree and commits them.
func commit(t *testing.T, work string, files map[string][]byte) {
	t.Helper()
	writeFiles(t, work, files)
	git := []string{program(t, "git", "git"), "-C", work, "-c", "user.name=A", "-c", "user.email=a@example.com"}
	output(t, nil, append(git, "add", "--all")...)
	output(t, nil, append(git, "commit", "--quiet", "--message", "add files")...)
}

// writeFiles writes files under dir, by their path with slashes.
func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// expectFile fails the test unless the one file that pattern matches has this
// content.
func expectFile(t *testing.T, pattern string, want []byte) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%s matches %q, want one file", pattern, found)
	}
	got, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, not the %d that the origin has", found[0], len(got), len(want))
	}
}

// expectRefused runs a command that a refusal must make fail, saying the status.
func expectRefused(t *testing.T, env []string, argv ...string) {
	t.Helper()
	out, err := command(t, env, argv...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "403") {
		t.Errorf("%s, which robots.txt disallows: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

func TestN5GitClonesPushesAndIsRefused(t *testing.T) {
	for _, auth := range []string{"open", "token"} {
		t.Run("with auth: "+auth, func(t *testing.T) { gitCrosses(t, auth) })
	}
}

func gitCrosses(t *testing.T, auth string) {
	t.Helper()
	root, git := t.TempDir(), program(t, "git", "git")
	first, second := noise(3<<20, "first"), noise(5<<20, "second")
	for _, name := range []string{"open.git", "secret.git"} {
		newRepository(t, root, name, map[string][]byte{"large": first})
	}
	a := newAuthority(t)
	o := startOrigin(t, &a, "localhost", "127.0.0.1", gitHandler(t, root))
	e := startEdgeWith(t, a, auth)
	env, work := pairs(e.env(t, sessionName(t))), filepath.Join(t.TempDir(), "work")

	output(t, env, git, "clone", "--quiet", o.url+"/open.git", work)
	expectFile(t, filepath.Join(work, "large"), first)

	commit(t, work, map[string][]byte{"larger": second})
	output(t, env, git, "-C", work, "push", "--quiet", "origin", "HEAD:main")
	if mine, theirs := head(t, work), head(t, filepath.Join(root, "open.git")); mine != theirs {
		t.Errorf("the origin is at %s after a push of %s", theirs, mine)
	}
	pushes := o.at("/open.git/git-receive-pack")
	if len(pushes) == 0 || pushes[len(pushes)-1].length != -1 {
		t.Errorf("the pushes were %+v; the last should have come as a stream of unknown length", pushes)
	}

	expectRefused(t, env, git, "clone", "--quiet", o.url+"/secret.git", filepath.Join(t.TempDir(), "secret"))
	if e.crossings(t, sessionName(t)) == 0 {
		t.Error("git's crossings are not in its session")
	}
}

func head(t *testing.T, repository string) string {
	t.Helper()
	return output(t, nil, program(t, "git", "git"), "-C", repository, "rev-parse", "main")
}
