package admin

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/evidence"
)

func TestSessionsA8(t *testing.T) {
	w := newWorld(t, nil)
	own := "edge-" + w.store.EdgeID()
	for n := range 5 {
		w.write(fmt.Sprintf("run%d", n), strings.Replace(crossingLine(1, "b.test"), "05:06", fmt.Sprintf("05:0%d", n), 1)+"\n")
	}
	var page struct {
		Items []struct {
			Session, State, SHA256 string
			Records                int
			Crossings              map[string]map[string]int
		}
		Next string
	}
	var all []string
	for path := "/v1/sessions?limit=2"; ; {
		page.Next = ""
		w.get(path).into(t, &page)
		for _, s := range page.Items {
			all = append(all, s.Session)
			if s.SHA256 != "" {
				t.Errorf("the list takes the digest of %s", s.Session)
			}
		}
		if page.Next == "" {
			break
		}
		w.write("late"+page.Items[0].Session, crossingLine(1, "b.test")+"\n") // sorts in front of what is left
		path = "/v1/sessions?limit=2&cursor=" + url.QueryEscape(page.Next)
	}
	if want := []string{"run4", "run3", "run2", "run1", "run0"}; len(all) < 7 || !slices.Equal(slices.DeleteFunc(slices.Clone(all), func(s string) bool {
		return s == own || s == "agent-1" || strings.HasPrefix(s, "late")
	}), want) {
		t.Errorf("listed %q", all)
	}
	for i, s := range all {
		if slices.Contains(all[:i], s) {
			t.Errorf("%s is repeated", s)
		}
	}
	var info evidence.SessionInfo
	w.get("/v1/sessions/agent-1").into(t, &info)
	content, err := os.ReadFile(filepath.Join(w.data, "sessions", "agent-1", "000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if info.State != "open" || info.SHA256 != fmt.Sprintf("sha256:%x", sha256.Sum256(content)) || info.Bytes != int64(len(content)) ||
		info.Crossings[evidence.Mediated][evidence.Delivered] != 2 || info.Crossings[evidence.Mediated][evidence.Refused] != 1 {
		t.Errorf("the session is %+v", info)
	}
	w.get("/v1/sessions/absent").isProblem(t, http.StatusNotFound)
	w.get("/v1/sessions/absent/log").isProblem(t, http.StatusNotFound)
}

func TestLogA8ByteForByteAndByRange(t *testing.T) {
	w := newWorld(t, nil)
	parts := []string{crossingLine(1, "b.test") + "\n", crossingLine(2, "c.test") + "\n"}
	w.write("run1", parts[0])
	if err := os.WriteFile(filepath.Join(w.data, "sessions", "run1", "000002.jsonl"), []byte(parts[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := parts[0] + parts[1]
	tests := []struct {
		name, ask string
		status    int
		want      string
	}{
		{"all of it", "", 200, whole},
		{"a beginning", "bytes=0-9", 206, whole[:10]},
		{"over the end of a segment", fmt.Sprintf("bytes=%d-%d", len(parts[0])-3, len(parts[0])+3), 206, whole[len(parts[0])-3 : len(parts[0])+4]},
		{"from a position on", fmt.Sprintf("bytes=%d-", len(whole)-5), 206, whole[len(whole)-5:]},
		{"the last octets", "bytes=-7", 206, whole[len(whole)-7:]},
		{"behind the end", fmt.Sprintf("bytes=%d-", len(whole)), 416, ""},
		{"nonsense", "bytes=x-y", 416, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := w.ask(http.MethodGet, "/v1/sessions/run1/log", "", func(r *http.Request) {
				if tt.ask != "" {
					r.Header.Set("Range", tt.ask)
				}
			})
			if tt.status == http.StatusRequestedRangeNotSatisfiable {
				a.isProblem(t, tt.status)
				return
			}
			if a.StatusCode != tt.status || string(a.body) != tt.want || a.Header.Get("Content-Type") != "application/x-ndjson" {
				t.Errorf("status %d, %q of type %q, want %q", a.StatusCode, a.body, a.Header.Get("Content-Type"), tt.want)
			}
		})
	}
	a := w.ask(http.MethodHead, "/v1/sessions/run1/log", "", nil)
	if a.StatusCode != http.StatusOK || a.ContentLength != int64(len(whole)) || a.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD gives %d, length %d", a.StatusCode, a.ContentLength)
	}
}

func TestSessionsA8Issue(t *testing.T) {
	var asked []string
	w := newWorld(t, func(o *Options) {
		o.Issue = func(session string) (string, error) {
			if session == "taken-by-case" {
				return "", fmt.Errorf("issuing: %w", evidence.ErrSessionInvalid)
			}
			asked = append(asked, session)
			return "t-" + session, nil
		}
	})
	var got issuedSession
	a := w.ask(http.MethodPost, "/v1/sessions", `{"session":"agent-2"}`, nil)
	a.into(t, &got)
	if a.StatusCode != http.StatusCreated || got != (issuedSession{"agent-2", "t-agent-2"}) || a.Header.Get("Location") != "/v1/sessions/agent-2" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %+v, %v", a.StatusCode, got, a.Header)
	}
	w.ask(http.MethodPost, "/v1/sessions", `{}`, nil).into(t, &got)
	if !evidence.ValidSession(got.Session) || got.Token != "t-"+got.Session || len(got.Session) < 20 {
		t.Errorf("a new one is %+v", got)
	}
	if len(asked) != 2 {
		t.Errorf("issued %q", asked)
	}
	bad := []struct {
		name, body string
		status     int
		parameter  string
	}{
		{"an id that is none", `{"session":"../x"}`, 400, "session"},
		{"an edge's own id", `{"session":"edge-20260101T000000Z-0123456789abcdef"}`, 400, "session"},
		{"an id that the edge refuses", `{"session":"taken-by-case"}`, 400, "session"},
		{"another type", `{"session":5}`, 400, "session"},
		{"a member that is not known", `{"sesion":"x"}`, 400, "sesion"},
		{"no JSON", `session=x`, 400, ""},
		{"a list", `[]`, 400, ""},
		{"two values", `{} {}`, 400, ""},
		{"too much", `{"session":"` + strings.Repeat("x", 2<<20) + `"}`, 413, ""},
	}
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			if p := w.ask(http.MethodPost, "/v1/sessions", tt.body, nil).isProblem(t, tt.status); p.Parameter != tt.parameter {
				t.Errorf("names %q", p.Parameter)
			}
		})
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		w.ask(http.MethodPost, "/v1/sessions", `{}`, func(r *http.Request) { r.Header["Content-Type"] = []string{kind} }).isProblem(t, http.StatusUnsupportedMediaType)
	}
}

func TestTermsA10AreNothingButText(t *testing.T) {
	w := newWorld(t, nil)
	a := w.get("/v1/terms/" + w.object()[7:])
	if string(a.body) != robotsTxt {
		t.Errorf("the bytes are %q", a.body)
	}
	for name, want := range map[string]string{"Content-Type": "text/plain", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"} {
		if got := a.Header.Values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	w.get("/v1/terms/"+strings.Repeat("ab", 32)).isProblem(t, http.StatusNotFound)
}
