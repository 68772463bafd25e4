package proxy

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// basic is the value of a Proxy-Authorization field (RFC 7617).
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// withCredentials makes an edge ask for credentials and returns them.
func withCredentials(t *testing.T) (*Credentials, func(*Options)) {
	t.Helper()
	c, err := OpenCredentials(filepath.Join(t.TempDir(), "credentials.json"))
	must(t, err)
	return c, func(o *Options) { o.Credentials = c }
}

// Under auth: open the user name is the session, and the password nobody's
// business. Without a name the requests belong to the edge's own session.
func TestN20AnOpenEdgeTakesTheUserNameAsTheSession(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	own := "edge-" + e.opt.ID
	for n, c := range []struct {
		auth, session string
		status        int
	}{
		{"", own, 204},
		{basic("agent-7", "x"), "agent-7", 204},
		{basic("agent-7", ""), "agent-7", 204},
		{basic("agent-7", "another:password"), "agent-7", 204},
		{basic("A.b_c-9", "x"), "A.b_c-9", 204},
		{basic(strings.Repeat("a", 128), "x"), strings.Repeat("a", 128), 204},
		{basic("", "x"), own, 204},
		{"Bearer token", own, 204},
		{"basic " + base64.StdEncoding.EncodeToString([]byte("lower:x")), "lower", 204},
		{"Basic !!!", own, 204},
		{basic("..", "x"), own, 400},
		{basic(".hidden", "x"), own, 400},
		{basic("a/b", "x"), own, 400},
		{basic("a%2Fb", "x"), own, 400},
		{basic("a b", "x"), own, 400},
		{basic("a\x00b", "x"), own, 400},
		{basic("é", "x"), own, 400},
		{basic(strings.Repeat("a", 129), "x"), own, 400},
	} {
		path := fmt.Sprintf("/n20-%d-", n)
		head := "GET " + s.url + path + " HTTP/1.1\r\nHost: x\r\n"
		if c.auth != "" {
			head += "Proxy-Authorization: " + c.auth + "\r\n"
		}
		resp := e.dial().send(head + "\r\n")
		if resp.StatusCode != c.status || c.status == 400 && reasonOf(resp) != "session_invalid" {
			t.Errorf("%q: %s, reason %s", c.auth, resp.Status, reasonOf(resp))
		}
		if c.status != 204 {
			continue // those alike share a record
		}
		r := e.crossing(path)
		r.want(t, map[string]any{"client.session": c.session})
		if r.session != c.session {
			t.Errorf("%q: recorded in the log of %s", c.auth, r.session)
		}
	}
	dirs, err := os.ReadDir(filepath.Join(e.data, "sessions"))
	must(t, err)
	for _, d := range dirs {
		if !evidence.ValidSession(d.Name()) {
			t.Errorf("an invalid session made the folder %q", d.Name())
		}
	}
}

// Under auth: token the name needs the token that was issued to it.
func TestN20ATokenEdgeWantsTheTokenOfTheSession(t *testing.T) {
	creds, option := withCredentials(t)
	e := startEdge(t, edgeSetup{options: option})
	token, err := creds.Issue("agent-7")
	must(t, err)
	other, err := creds.Issue("agent-8")
	must(t, err)
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	for _, c := range []struct {
		name, auth string
		status     int
	}{
		{"the session's own token", basic("agent-7", token), 204},
		{"no credentials", "", 407},
		{"no token", basic("agent-7", ""), 407},
		{"any password", basic("agent-7", "x"), 407},
		{"the token of another session", basic("agent-7", other), 407},
		{"a session that was issued none", basic("agent-9", token), 407},
		{"the token as the name", basic(token, ""), 407},
		{"no name", basic("", token), 400},
		{"the scheme of others", "Bearer " + token, 407},
		{"a session id that is none", basic("../x", token), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			field := ""
			if c.auth != "" {
				field = "Proxy-Authorization: " + c.auth + "\r\n"
			}
			for _, head := range []string{"GET " + s.url + "/ HTTP/1.1\r\n", "CONNECT " + s.addr + " HTTP/1.1\r\n"} {
				resp := e.dial().send(head + "Host: x\r\n" + field + "\r\n")
				want := c.status
				if strings.HasPrefix(head, "CONNECT") && want == 204 {
					want = 200
				}
				if resp.StatusCode != want {
					t.Errorf("%.8s: %s, want %d", head, resp.Status, want)
				}
				if asks := resp.Header.Get("Proxy-Authenticate"); (want == 407) != (asks == `Basic realm="wayleave"`) {
					t.Errorf("%.8s: Proxy-Authenticate: %s", head, asks)
				}
				if want == 407 && reasonOf(resp) != "credentials_required" {
					t.Errorf("%.8s: reason %s", head, reasonOf(resp))
				}
			}
		})
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("the source saw %d requests", n)
	}
	for _, r := range e.crossings() {
		if strings.Contains(r.raw, token) || strings.Contains(r.raw, other) {
			t.Errorf("a record has a token: %s", r.raw)
		}
	}
}

// Credentials bind to the tunnel at CONNECT, and to each plain request: what a
// request inside a tunnel says of itself changes nothing, and no origin reads it.
func TestN21CredentialsBindToTheTunnelOrToTheRequest(t *testing.T) {
	creds, option := withCredentials(t)
	e := startEdge(t, edgeSetup{options: option})
	token, err := creds.Issue("agent-7")
	must(t, err)
	mine := basic("agent-7", token)
	for _, secure := range []bool{true, false} {
		var seen http.Header
		s := startSite(t, secure, func(v *visit) {
			seen = v.req.Header
			v.say("HTTP/1.1 204 No Content\r\n\r\n")
		})
		inner := "GET /inner HTTP/1.1\r\nHost: " + s.addr + "\r\nProxy-Authorization: " + basic("agent-8", "other") + "\r\n\r\n"
		conn, _, resp := e.dialTunnel(s.addr, "Proxy-Authorization: "+mine)
		if resp.StatusCode != 200 {
			t.Fatalf("%s", resp.Status)
		}
		c := e.raw(conn)
		if secure {
			c = e.raw(e.clientTLS(conn))
		}
		for range 2 {
			if resp := c.send(inner); resp.StatusCode != 204 || seen.Get("Proxy-Authorization") != "" {
				t.Errorf("inside the tunnel: %s, at the origin %v", resp.Status, seen)
			}
		}
		e.crossing(s.url).want(t, map[string]any{"client.session": "agent-7"})
		// The other order, as some clients do: none at CONNECT, then inside.
		if _, _, resp := e.dialTunnel(s.addr); resp.StatusCode != 407 {
			t.Errorf("CONNECT without credentials: %s", resp.Status)
		}
	}
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	c := e.dial()
	for n, auth := range []string{mine, "", mine} {
		field := ""
		if auth != "" {
			field = "Proxy-Authorization: " + auth + "\r\n"
		}
		resp, _ := c.ask("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\n" + field + "\r\n")
		if want := map[bool]int{true: 204, false: 407}[auth != ""]; resp.StatusCode != want {
			t.Errorf("plain request %d of a connection: %s, want %d", n, resp.Status, want)
		}
	}
	for _, r := range e.records() {
		for _, secret := range []string{token, "b3RoZXI", mine} {
			if strings.Contains(r.raw, secret) {
				t.Errorf("a record has a credential: %s", r.raw)
			}
		}
	}
}

// An open edge that is asked inside a tunnel keeps the tunnel's session too.
func TestN21TheSessionInsideAnOpenTunnelIsTheTunnels(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	conn, _, _ := e.dialTunnel(s.addr, "Proxy-Authorization: "+basic("one", "x"))
	e.raw(conn).send("GET /in HTTP/1.1\r\nHost: " + s.addr + "\r\nProxy-Authorization: " + basic("two", "x") + "\r\n\r\n")
	e.crossing("/in").want(t, map[string]any{"client.session": "one"})
}

// In a batch run, whose log is the run's, the rules for an agent go by its own name
// and not by the run's (O6, O30, T105); so does what a record says of it.
func TestO6_O30_T105_InABatchRunTheRulesGoByTheUserName(t *testing.T) {
	data := t.TempDir()
	var run *evidence.Run
	s := edgeSetup{data: data, policy: withService("127.0.0.1"), evidence: func(o *evidence.Options) {
		var err error
		run, err = evidence.CreateRun(data, evidence.RunOptions{ID: "r1", Edge: o.EdgeID, Policy: []byte("{}")})
		must(t, err)
		o.Run = run
	}}
	s.policy.Services, s.policy.Tunnels = []string{"127.0.0.1", "api.test"}, []string{"api.test"}
	s.policy.Hosts.Deny = []string{"127.0.0.1", "api.test"}
	s.policy.Sessions = []rulings.SessionFile{{User: "alice", Mode: "strict"}, {User: "r1", Purposes: []string{"search"}}}
	s.policy.Spend = []rulings.SpendFile{{User: "r*", Hosts: []string{"*"}}}
	e := startEdge(t, s)
	run.Start(t.Context(), e.store)
	site := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	for _, tt := range []struct{ user, spends, reason string }{
		{"alice", "", "host_denied"}, {"bob", "", ""}, {"r1", "", ""}, {"", "", ""},
		{"bob", "1", "spend_not_allowed"}, {"r1", "1", ""}, {"", "1", "spend_not_allowed"},
	} {
		var auth []string
		head := "GET http://" + site.addr + "/ HTTP/1.1\r\nHost: " + site.addr + "\r\n"
		if tt.user != "" {
			auth = []string{"Proxy-Authorization: " + basic(tt.user, "x")}
			head += auth[0] + "\r\n"
		}
		if tt.spends != "" {
			head += "X-Payment: 1\r\n"
		}
		if resp := e.dial().send(head + "\r\n"); reasonOf(resp) != tt.reason {
			t.Errorf("%q, spending %q: %s, %s", tt.user, tt.spends, resp.Status, reasonOf(resp))
		}
		conn, _, resp := e.dialTunnel(site.addr, auth...)
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		if resp := e.raw(conn).send(strings.Replace(head, "http://"+site.addr, "", 1) + "\r\n"); reasonOf(resp) != tt.reason {
			t.Errorf("%q in a tunnel, spending %q: %s, %s", tt.user, tt.spends, resp.Status, reasonOf(resp))
		}
	}
	if _, _, resp := e.dialTunnel("api.test:443", "Proxy-Authorization: "+basic("alice", "x")); reasonOf(resp) != "host_denied" {
		t.Errorf("an unread tunnel: %s, %s", resp.Status, reasonOf(resp))
	}
	e.down()
	disk := e.onDisk()
	for _, want := range []string{`"client":{"session":"alice",`, `"client":{"session":"r1",`, `"client":{"protocol":`} {
		if !strings.Contains(disk, want) {
			t.Errorf("no record has %s", want)
		}
	}
}

func TestN20TokensAreKeptHashedForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of", "nobody", "yet")
	name := filepath.Join(dir, "credentials.json")
	c, err := OpenCredentials(name)
	must(t, err)
	first, err := c.Issue("agent-7")
	must(t, err)
	data, err := os.ReadFile(name)
	must(t, err)
	info, err := os.Stat(name)
	must(t, err)
	if strings.Contains(string(data), first) || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o: %s", info.Mode().Perm(), data)
	}
	info, err = os.Stat(dir)
	if must(t, err); info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %o", info.Mode().Perm())
	}
	second, err := OpenCredentials(name) // another process
	must(t, err)
	if !second.Check("agent-7", first) || second.Check("agent-7", first+"x") || second.Check("agent-7", "") || second.Check("", "") {
		t.Error("another process does not know the token, or knows too many")
	}
	next, err := second.Issue("agent-7")
	must(t, err)
	if c.Check("agent-7", first) || !c.Check("agent-7", next) {
		t.Error("a new token does not take the place of the old one")
	}
	list, err := c.List()
	must(t, err)
	if len(list) != 1 || list[0].Session != "agent-7" || list[0].IssuedAt.IsZero() {
		t.Errorf("issued: %v", list)
	}
	if _, err := c.Issue("../x"); !errors.Is(err, evidence.ErrSessionInvalid) {
		t.Errorf("a session id that is none: %v", err)
	}
}

// A file that others may read or that is damaged is an error, and lets nobody in.
func TestN20CredentialsThatCannotBeTrustedLetNobodyIn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "credentials.json")
	c, err := OpenCredentials(name)
	must(t, err)
	token, err := c.Issue("agent-7")
	must(t, err)
	must(t, os.Chmod(name, 0o640))
	if _, err := OpenCredentials(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by others: %v", err)
	}
	must(t, os.Chmod(name, 0o600))
	must(t, os.WriteFile(name, []byte("{"), 0o600))
	if _, err := OpenCredentials(name); err == nil {
		t.Error("a damaged file was read")
	}
	if c.Check("agent-7", token) {
		t.Error("the token still opens after the file was damaged")
	}
	must(t, os.Remove(name))
	if c.Check("agent-7", token) {
		t.Error("the token still opens after the file was removed")
	}
}

// A log that cannot be written costs its agent nothing, and has a gap as soon as
// it can.
func TestE30ALogThatCannotBeWrittenCostsTheAgentNothing(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "User-agent: *\nDisallow: /private\n", true, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
	// A regular file stands where the folder of the log belongs.
	folder := filepath.Join(e.data, "sessions", "blocked")
	must(t, os.WriteFile(folder, nil, 0o600))
	c := e.client("blocked", false)
	if resp, body := get(t, c, o.URL+"/page"); resp.StatusCode != 200 || body != "page" {
		t.Errorf("%s %s", resp.Status, body)
	}
	resp, body := get(t, c, o.URL+"/private")
	if resp.StatusCode != 403 || strings.Contains(body, "crossing") {
		t.Errorf("a refusal names a record nobody has: %s %s", resp.Status, body)
	}
	must(t, os.Remove(folder))
	e.down()
	for _, r := range e.records() {
		if r.session == "blocked" && r.Event == evidence.EventEvidenceGap {
			r.want(t, map[string]any{"reason": "write_failed", "lost.events.crossing_mediated": 1, "lost.events.crossing_refused": 1})
			return
		}
	}
	t.Error("no gap tells of the lost records")
}
