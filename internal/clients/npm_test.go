//go:build clients

package clients

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
)

// registry is an npm registry of one package, and of one that its robots.txt
// disallows.
func registry(t *testing.T) http.Handler {
	t.Helper()
	archive := tarball(t, map[string][]byte{
		"package/package.json": []byte(`{"name": "sample", "version": "1.0.0", "main": "index.js"}`),
		"package/index.js":     []byte("module.exports = 'a sample';\n"),
		"package/large.bin":    noise(1<<20, "npm"),
	})
	sum := sha512.Sum512(archive)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /secret\n"))
	mux.HandleFunc("GET /sample", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{
			"name":      "sample",
			"dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{
				"name": "sample", "version": "1.0.0",
				"dist": map[string]string{
					"tarball":   "https://" + r.Host + "/sample/-/sample-1.0.0.tgz",
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
				},
			}},
		})
	})
	mux.HandleFunc("GET /sample/-/sample-1.0.0.tgz", func(w http.ResponseWriter, r *http.Request) { w.Write(archive) })
	return mux
}

// tarball packs files, by their path, as registries do.
func tarball(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestN5NpmInstallsAndIsRefused(t *testing.T) {
	a := newAuthority(t)
	o := startOrigin(t, &a, "localhost", "127.0.0.1", registry(t))
	e := startEdge(t, a)
	env, project := pairs(e.env(t, sessionName(t))), t.TempDir()
	npm := []string{
		program(t, "npm", "npm"), "install", "--registry=" + o.url + "/", "--prefix=" + project, "--cache=" + t.TempDir(),
		"--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0",
	}
	output(t, env, append(npm, "sample")...)
	expectFile(t, filepath.Join(project, "node_modules", "sample", "large.bin"), noise(1<<20, "npm"))
	expectRefused(t, env, append(npm, "secret")...)
	if e.crossings(t, sessionName(t)) == 0 {
		t.Error("npm's crossings are not in its session")
	}
}
