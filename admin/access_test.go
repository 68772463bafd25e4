package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAccessA1TokenIsNeeded(t *testing.T) {
	w := newWorld(t, nil)
	guarded := []string{"/metrics", "/v1/openapi.json", "/v1/status", "/v1/crossings", "/v1/refusals", "/v1/sessions", "/v1/sessions/agent-1", "/v1/sessions/agent-1/log", "/v1/hosts", "/v1/hosts/paced.test", "/v1/terms/" + strings.Repeat("a", 64), "/v1/crossings/agent-1/1"}
	tests := []struct {
		name   string
		fields []string
	}{
		{"no credentials", nil},
		{"an empty token", []string{"Bearer "}},
		{"a scheme alone", []string{"Bearer"}},
		{"another token", []string{"Bearer " + strings.Repeat("A", len(w.token))}},
		{"the beginning of the token", []string{"Bearer " + w.token[:len(w.token)-1]}},
		{"the token and more", []string{"Bearer " + w.token + "A"}},
		{"the token behind two spaces", []string{"Bearer  " + w.token}},
		{"another scheme", []string{"Basic " + w.token}},
		{"no scheme", []string{w.token}},
		{"the token second", []string{"Bearer x", "Bearer " + w.token}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range guarded {
				a := w.ask(http.MethodGet, path, "", func(r *http.Request) { r.Header["Authorization"] = tt.fields })
				a.isProblem(t, http.StatusUnauthorized)
				if a.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: no WWW-Authenticate", path)
				}
			}
			for _, path := range []string{"/v1/sessions", "/v1/explain", "/v1/hosts/paced.test/refresh"} {
				w.ask(http.MethodPost, path, "{}", func(r *http.Request) { r.Header["Authorization"] = tt.fields }).isProblem(t, http.StatusUnauthorized)
			}
		})
	}
	a := w.ask(http.MethodGet, "/v1/status", "", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+w.token) })
	if a.StatusCode != http.StatusOK {
		t.Errorf("the scheme in lower case gives %d", a.StatusCode)
	}
}

func TestAccessA1OpenPaths(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := newWorld(t, func(o *Options) { o.OpenMetrics = open })
		want := map[string]int{"/healthz": 200, "/readyz": 200, "/ca.pem": 200, "/metrics": 401}
		if open {
			want["/metrics"] = 200
		}
		for path, status := range want {
			a := w.ask(http.MethodGet, path, "", func(r *http.Request) { r.Header.Del("Authorization") })
			if a.StatusCode != status {
				t.Errorf("open metrics %v: %s gives %d, want %d", open, path, a.StatusCode, status)
			}
		}
	}
}

// DNS rebinding: a page of another site lets its own name resolve to this
// machine. Its requests name that site in Host, and in Origin.
func TestAccessA2HostNamesTheListener(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Names = []string{"Wayleave.internal", "[2001:db8::5]"} })
	tests := []struct {
		host string
		want int
	}{
		{"127.0.0.1:3129", 200}, {"127.0.0.1", 200}, {"localhost:3129", 200}, {"LOCALHOST", 200}, {"[::1]:3129", 200}, {"[::1]", 200},
		{"wayleave.internal:3129", 200}, {"[2001:db8::5]:3129", 200}, {"[2001:DB8:0::5]", 200},

		{"evil.test", 421}, {"evil.test:3129", 421}, {"", 421},
		{"127.0.0.1.evil.test", 421}, {"localhost.evil.test", 421}, {"127.evil.test", 421}, {"[::1].evil.test", 421},
		{"localhost.", 421}, {"127.0.0.2", 421}, {"0.0.0.0", 421}, {"[::]", 421}, {"[::ffff:127.0.0.1]", 421}, {"[::1%lo]", 421}, {"127.1", 421}, {"2130706433", 421},
		{"localhost:3129:80", 421}, {"localhost:x", 421}, {"x.wayleave.internal", 421}, {"192.0.2.7:3129", 421},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			for _, path := range []string{"/v1/status", "/healthz", "/ca.pem"} {
				a := w.raw("GET "+path+" HTTP/1.1", "Host: "+tt.host, "Authorization: Bearer "+w.token)
				if a.StatusCode != tt.want {
					t.Errorf("%s gives %d, want %d", path, a.StatusCode, tt.want)
				}
				if tt.want == http.StatusMisdirectedRequest {
					a.isProblem(t, tt.want)
				}
			}
		})
	}
	t.Run("an absolute target is what counts", func(t *testing.T) {
		a := w.raw("GET http://evil.test/v1/status HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer "+w.token)
		a.isProblem(t, http.StatusMisdirectedRequest)
	})
	t.Run("no Host at all", func(t *testing.T) {
		w.raw("GET /v1/status HTTP/1.0", "Authorization: Bearer "+w.token).isProblem(t, http.StatusMisdirectedRequest)
	})
	t.Run("a forwarded name does not count", func(t *testing.T) {
		a := w.raw("GET /v1/status HTTP/1.1", "Host: evil.test", "X-Forwarded-Host: 127.0.0.1", "Forwarded: host=127.0.0.1", "Authorization: Bearer "+w.token)
		a.isProblem(t, http.StatusMisdirectedRequest)
	})
}

func TestAccessA2OriginIsTheListener(t *testing.T) {
	w := newWorld(t, nil)
	host := w.server.Listener.Addr().String()
	tests := []struct {
		name    string
		origins []string
		want    int
	}{
		{"none", nil, 200},
		{"its own", []string{"http://" + host}, 200},
		{"its own behind TLS", []string{"https://" + host}, 200},
		{"another site", []string{"https://evil.test"}, 403},
		{"another port of this machine", []string{"http://127.0.0.1:1"}, 403},
		{"another name of this machine", []string{"http://localhost" + host[strings.LastIndex(host, ":"):]}, 403},
		{"null", []string{"null"}, 403},
		{"nothing", []string{""}, 403},
		{"another scheme", []string{"file://" + host}, 403},
		{"two", []string{"http://" + host, "https://evil.test"}, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := w.ask(http.MethodGet, "/v1/status", "", func(r *http.Request) {
				if tt.origins != nil {
					r.Header["Origin"] = tt.origins
				}
			})
			if a.StatusCode != tt.want {
				t.Errorf("status %d, want %d", a.StatusCode, tt.want)
			}
			for name := range a.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("CORS: %s", name)
				}
			}
		})
	}
	preflight := w.ask(http.MethodOptions, "/v1/explain", "", func(r *http.Request) {
		r.Header.Set("Origin", "https://evil.test")
		r.Header.Set("Access-Control-Request-Method", "POST")
	})
	preflight.isProblem(t, http.StatusForbidden)
}

func TestAccessA2RefusesWhatCameThroughTheProxy(t *testing.T) {
	w := newWorld(t, nil)
	tests := []struct {
		name string
		via  []string
		want int
	}{
		{"not at all", nil, 200},
		{"through another proxy", []string{"1.1 other, 1.0 wayleave-test2"}, 200},
		{"through ours", []string{"1.1 wayleave-test"}, 508},
		{"through ours among others", []string{"HTTP/1.1 other (x), 2 wayleave-test (wayleave)", "1.1 last"}, 508},
		{"through ours, in a second field", []string{"1.1 other", "1.1 Wayleave-Test"}, 508},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/v1/status", "/healthz"} {
				a := w.ask(http.MethodGet, path, "", func(r *http.Request) { r.Header["Via"] = tt.via })
				if a.StatusCode != tt.want {
					t.Errorf("%s gives %d, want %d", path, a.StatusCode, tt.want)
				}
			}
		})
	}
}

// Ids are checked and never cleaned, on every route that takes one.
func TestAccessA4NoPathLeavesTheLogs(t *testing.T) {
	w := newWorld(t, nil)
	const secret = `{"seq":1,"timestamp":"2026-03-04T05:06:07.089Z","event":"crossing_mediated","payload":{"secret":"canary"}}` + "\n"
	for _, path := range []string{"secret.txt", "000001.jsonl", "sessions/secret.txt"} {
		if err := os.WriteFile(filepath.Join(w.data, path), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ids := []string{
		"..", ".", ".hidden", "..%2f..%2fetc%2fpasswd", "%2e%2e", "%2e%2e/secret.txt", "..%5csecret.txt", "agent-1%00", "agent-1%00.x",
		"a%2Fb", "a%252Fb", "%252e%252e", "agent-1%2f..%2fagent-1", "agent%2d1", "..;", "a%0ab", "~", "agent-1:", "%c0%ae%c0%ae",
		strings.Repeat("a", 129), "sessions", "..\\secret.txt", "agent-1/../agent-1", "agent-1/..", "é",
	}
	for _, id := range ids {
		for _, path := range []string{"/v1/sessions/" + id, "/v1/sessions/" + id + "/log", "/v1/crossings/" + id + "/1", "/v1/crossings/agent-1/" + id, "/v1/terms/" + id} {
			a := w.raw("GET "+path+" HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer "+w.token)
			if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusNotFound {
				t.Errorf("%s gives %d: %.200s", path, a.StatusCode, a.body)
			}
			if strings.Contains(string(a.body), "canary") || strings.Contains(string(a.body), "root:") {
				t.Errorf("%s gives the secret away", path)
			}
		}
	}
	for _, id := range []string{"..", "%2e%2e", "../agent-1", "a%00", ".hidden", "a%2fb"} {
		if p := w.raw("GET /v1/crossings?session="+id+" HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer "+w.token).isProblem(t, http.StatusBadRequest); p.Parameter != "session" {
			t.Errorf("session %s in a query names %q", id, p.Parameter)
		}
	}
	if a := w.get("/v1/sessions/secret.txt/log"); a.StatusCode < 400 || strings.Contains(string(a.body), "canary") {
		t.Errorf("a file among the logs gives %d: %s", a.StatusCode, a.body)
	}
	for _, seq := range []string{"0", "01", "-1", "+1", "1.0", "1e1", "0x1", "18446744073709551616", "99"} {
		a := w.get("/v1/crossings/agent-1/" + seq)
		if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusNotFound {
			t.Errorf("crossing %s gives %d", seq, a.StatusCode)
		}
	}
	for _, digest := range []string{strings.Repeat("A", 64), strings.Repeat("a", 63), strings.Repeat("a", 65), "sha256:" + strings.Repeat("a", 64), strings.Repeat("g", 64), strings.Repeat("0", 64)} {
		w.get("/v1/terms/"+digest).isProblem(t, http.StatusBadRequest)
	}
}

func TestAccessA3UnknownParametersAreNamed(t *testing.T) {
	w := newWorld(t, nil)
	paths := []string{
		"/healthz", "/readyz", "/ca.pem", "/metrics", "/v1/openapi.json", "/v1/status", "/v1/crossings", "/v1/crossings/agent-1/1", "/v1/refusals",
		"/v1/sessions", "/v1/sessions/agent-1", "/v1/sessions/agent-1/log", "/v1/hosts", "/v1/hosts/paced.test", "/v1/terms/" + strings.Repeat("a", 64),
	}
	for _, path := range paths {
		if p := w.get(path+"?offset=5").isProblem(t, http.StatusBadRequest); p.Parameter != "offset" {
			t.Errorf("%s names %q", path, p.Parameter)
		}
	}
	for _, path := range []string{"/v1/sessions", "/v1/explain", "/v1/hosts/paced.test/refresh"} {
		if p := w.ask(http.MethodPost, path+"?dry=1", "{}", nil).isProblem(t, http.StatusBadRequest); p.Parameter != "dry" {
			t.Errorf("%s names %q", path, p.Parameter)
		}
	}
	if p := w.get("/v1/refusals?outcome=refused").isProblem(t, http.StatusBadRequest); p.Parameter != "outcome" {
		t.Errorf("the refusals name %q", p.Parameter)
	}
	if p := w.get("/v1/crossings?host=a.test&host=b.test").isProblem(t, http.StatusBadRequest); p.Parameter != "host" {
		t.Errorf("one given twice is named %q", p.Parameter)
	}
	for _, query := range []string{"a;b", "%zz", "host=%"} {
		w.raw("GET /v1/crossings?"+query+" HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer "+w.token).isProblem(t, http.StatusBadRequest)
	}
}

func TestLoadTokenA1MakesOneOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "admin.token")
	tokens := make([]string, 8)
	var group sync.WaitGroup
	for i := range tokens {
		group.Go(func() {
			var err error
			if tokens[i], err = LoadToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) != 43 {
			t.Errorf("the tokens are %q", tokens)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte(tokens[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadToken(path); again != tokens[0] || err != nil {
		t.Errorf("with a line's end it is %q, error %v", again, err)
	}
	if other, err := LoadToken(filepath.Join(dir, "other")); other == tokens[0] || err != nil {
		t.Errorf("another file has %q, error %v", other, err)
	}
}

func TestLoadTokenA1Refuses(t *testing.T) {
	good, err := LoadToken(filepath.Join(t.TempDir(), "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(content string, mode os.FileMode) func(string) error {
		return func(path string) error {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	tests := []struct {
		name string
		make func(path string) error
	}{
		{"a file that the group may read", write(good, 0o640)},
		{"a file that everybody may read", write(good, 0o604)},
		{"a file that the group may write", write(good, 0o620)},
		{"an empty file", write("", 0o600)},
		{"blank space", write(" \n", 0o600)},
		{"a sample", write("your-admin-token\n", 0o600)},
		{"a token with something behind it", write(good+"\n\n", 0o600)},
		{"a link", func(path string) error {
			if err := write(good, 0o600)(path + ".real"); err != nil {
				return err
			}
			return os.Symlink(path+".real", path)
		}},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a FIFO", func(path string) error { return unix.Mkfifo(path, 0o600) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "admin.token")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if token, err := LoadToken(path); err == nil || token != "" {
				t.Errorf("token %q, error %v", token, err)
			}
		})
	}
	if _, err := LoadToken(filepath.Join(t.TempDir(), "absent", "admin.token")); err == nil {
		t.Error("a directory that is not there")
	}
}
