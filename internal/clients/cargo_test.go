//go:build clients

package clients

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
)

// crates is a cargo registry, with an index over HTTP, of one crate. Another
// index, under secret, is one that its robots.txt disallows.
//
// An index that is a git repository would not do here: for those cargo leaves the
// port out of Host, so that on any port but 443 Host is not the authority that
// its CONNECT asked for, and the answer is 421 (N4).
func crates(archive []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", text("text/plain", "User-agent: *\nDisallow: /secret/\n"))
	mux.HandleFunc("GET /index/config.json", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"dl": "https://%s/crates/{crate}-{version}.crate"}`, r.Host)
	})
	mux.HandleFunc("GET /index/sa/mp/sample", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"sample","vers":"1.0.0","deps":[],"features":{},"yanked":false,"cksum":"%x"}`+"\n", sha256.Sum256(archive))
	})
	mux.HandleFunc("GET /crates/sample-1.0.0.crate", func(w http.ResponseWriter, r *http.Request) { w.Write(archive) })
	return mux
}

func TestN5CargoFetchesAndIsRefused(t *testing.T) {
	large := noise(1<<20, "cargo")
	archive := tarball(t, map[string][]byte{
		"sample-1.0.0/Cargo.toml": []byte("[package]\nname = \"sample\"\nversion = \"1.0.0\"\n"),
		"sample-1.0.0/src/lib.rs": nil,
		"sample-1.0.0/large.bin":  large,
	})
	a := newAuthority(t)
	o := startOrigin(t, &a, "localhost", "127.0.0.1", crates(archive))
	e := startEdge(t, a)

	project, home := t.TempDir(), t.TempDir()
	writeFiles(t, project, map[string][]byte{
		"Cargo.toml": []byte("[package]\nname = \"user\"\nversion = \"0.1.0\"\n[dependencies]\nsample = { version = \"1\", registry = \"local\" }\n"),
		"src/lib.rs": nil,
	})
	program := cargo(t)
	fetch := []string{program, "fetch", "--manifest-path", filepath.Join(project, "Cargo.toml")}
	env := append(pairs(e.env(t, sessionName(t))), "CARGO_HOME="+home, "CARGO_NET_RETRY=0", "RUSTC="+filepath.Join(filepath.Dir(program), "rustc"))
	expectRefused(t, append(env, "CARGO_REGISTRIES_LOCAL_INDEX=sparse+"+o.url+"/secret/"), fetch...)
	output(t, append(env, "CARGO_REGISTRIES_LOCAL_INDEX=sparse+"+o.url+"/index/"), fetch...)
	expectFile(t, filepath.Join(home, "registry", "src", "*", "sample-1.0.0", "large.bin"), large)
	if e.crossings(t, sessionName(t)) == 0 {
		t.Error("cargo's crossings are not in its session")
	}
}
