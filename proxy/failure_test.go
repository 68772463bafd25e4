package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/rulings"
)

// leaks is what must not be in what a client reads of a failure: text of Go's
// errors and addresses of the edge's network.
var leaks = regexp.MustCompile(`(?i)dial|tcp|lookup|x509|EOF|syscall|net/http|goroutine|panic|127\.0\.0\.1|10\.255|no such host|broken pipe|malformed`)

// closedPort is an address of this machine on which nobody listens, and nobody
// can before the test has ended.
func closedPort(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	must(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	addr, err := unix.Getsockname(fd)
	must(t, err)
	return fmt.Sprintf("127.0.0.1:%d", addr.(*unix.SockaddrInet4).Port)
}

// silentListener accepts connections and never says a word.
func silentListener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

// saying is the URL of a service that says octets to whoever connects and closes.
func saying(t *testing.T, octets string) string {
	return startSite(t, false, func(v *visit) {
		v.say(octets)
		v.Close()
	}).url
}

// Each failure keeps its cause apart, in the answer, in Proxy-Status (RFC 9209)
// and in the record. The hosts are services, so that the request itself fails
// and not the question for robots.txt.
func TestN19EachFailureIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		url    func(t *testing.T) string
		reason string
		status int
	}{
		{"a name that does not exist", func(*testing.T) string { return "http://gone.test" }, "dns_error", 502},
		{"a name nobody answers for", func(*testing.T) string { return "http://slow.test" }, "dns_timeout", 504},
		{"a closed port", func(t *testing.T) string { return "http://" + closedPort(t) }, "connection_refused", 502},
		{"a closed port, intercepted", func(t *testing.T) string { return "https://" + closedPort(t) }, "connection_refused", 502},
		{"no TLS behind the port", func(t *testing.T) string { return strings.Replace(saying(t, "x"), "http:", "https:", 1) }, "tls_protocol_error", 502},
		{"an end without an answer", func(t *testing.T) string { return saying(t, "") }, "connection_terminated", 502},
		{"an end within the head", func(t *testing.T) string { return saying(t, "HTTP/1.1 200 OK\r\nX: ") }, "connection_terminated", 502},
		{"no answer in time", func(t *testing.T) string { return "http://" + silentListener(t) }, "http_response_timeout", 504},
		{"no HTTP", func(t *testing.T) string { return saying(t, "220 smtp ready\r\n\r\n") }, "http_protocol_error", 502},
		{"a head over 1 MiB", func(t *testing.T) string { return saying(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1100<<10)) }, "http_response_header_section_size", 502},
		{"a switch of protocols", func(t *testing.T) string {
			return saying(t, "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}, "http_upgrade_failed", 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{policy: withService("127.0.0.1", "gone.test", "slow.test"),
				upstream: func(o *UpstreamOptions) {
					if c.reason == "http_response_timeout" {
						o.HeadTimeout = 100 * time.Millisecond
					}
				}})
			base := c.url(t)
			for _, http2 := range []bool{false, true} {
				if http2 && !strings.HasPrefix(base, "https:") {
					continue
				}
				resp, err := e.client("", http2).Get(base + "/f")
				body := text(t, resp, err)
				status := resp.Header.Get("Proxy-Status")
				if resp.StatusCode != c.status || reasonOf(resp) != c.reason || !strings.HasPrefix(status, e.via+"; error="+c.reason+";") {
					t.Errorf("%s, Proxy-Status: %s", resp.Status, status)
				}
				if leak := leaks.FindString(body + fmt.Sprint(resp.Header)); leak != "" {
					t.Errorf("the client reads %q in %s", leak, body)
				}
				if !strings.Contains(body, `"whose":"upstream"`) || strings.Contains(body, "retry_at") {
					t.Errorf("told %s", body)
				}
			}
			r := e.crossing("/f")
			r.want(t, map[string]any{"outcome": "unavailable", "failure.kind": c.reason, "told.status": c.status, "told.reason": c.reason, "delivered": nil,
				"refusal": nil, "class": "service"})
			if unanswered := r.at("http_status") == nil; unanswered != strings.Contains(r.raw, `"dependency_unavailable"`) {
				t.Errorf("an answer came: %v; the gap does not fit: %s", !unanswered, r.raw)
			}
			// The legs that ran are timed, and what was dialled has an address.
			named := strings.HasPrefix(c.reason, "dns_")
			_, address, _ := strings.Cut(base, "://")
			if got := r.at("address"); named != (got == nil) || !named && got != address {
				t.Errorf("address %v, and what was asked is %s", got, base)
			}
			for leg, ran := range map[string]bool{"dns": named, "connect": !named, "tls": c.reason == "tls_protocol_error"} {
				if got := r.at("timings." + leg); ran != (got != nil) {
					t.Errorf("timings.%s is %v", leg, got)
				}
			}
			if r.at("failure.detail") == nil {
				t.Error("the record does not say what went wrong")
			}
		})
	}
}

// Inside a tunnel a failed connect is an answer, and the tunnel goes on.
func TestN19AFailureInsideATunnelLeavesItUsable(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
	addr := closedPort(t)
	c, _ := e.rawBy(ways[2], addr)
	for range 2 {
		resp, body := c.ask("GET /down HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
		if resp.StatusCode != 502 || reasonOf(resp) != "connection_refused" || resp.Close {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	for _, r := range e.waitCrossings(2) {
		r.want(t, map[string]any{"outcome": "unavailable", "failure.kind": "connection_refused", "url": "https://" + addr + "/down"})
	}
}

// A source that cannot be reached is refused, since its robots.txt is not known.
func TestN19AnUnreachableSourceIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		url := "http://" + closedPort(t)
		if w.secure {
			url = strings.Replace(url, "http:", "https:", 1)
		}
		resp, err := e.by(w).Get(url + "/")
		body := text(t, resp, err)
		if resp.StatusCode != 503 || reasonOf(resp) != "robots_unreachable" || resp.Header.Get("Retry-After") == "" || leaks.MatchString(body) {
			t.Errorf("%s: %s %s", w.name, resp.Status, body)
		}
		r := e.crossing(url)
		r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "robots_unreachable", "requested_at": nil})
		retryIsTold(t, r, body)
	}
}

// retryIsTold checks that body names one instant to ask again at, a whole second
// that is not before the terms of r end, and that r has it as the agent read it.
func retryIsTold(t *testing.T, r record, body string) {
	t.Helper()
	var p problem
	must(t, json.Unmarshal([]byte(body), &p))
	told, err := time.Parse(time.RFC3339, p.RetryAt)
	must(t, err)
	end, err := time.Parse(time.RFC3339, r.list("declarations.terms", "expires_at")[0])
	must(t, err)
	recorded, err := time.Parse(time.RFC3339, fmt.Sprint(r.at("told.retry_at")))
	must(t, err)
	if told.Before(end) || told.Sub(end) > time.Second || !recorded.Equal(told) || !strings.Contains(p.Detail, "Ask again after "+p.RetryAt) {
		t.Errorf("told %s of %s: %s\n%s", p.RetryAt, end, body, r.raw)
	}
}

// Causes that cannot be brought about on loopback without waiting.
func TestN19CausesAreSorted(t *testing.T) {
	for _, c := range []struct {
		err  error
		want rulings.Reason
	}{
		{&legError{legConnect, context.DeadlineExceeded}, rulings.ConnectionTimeout},
		{&legError{legConnect, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}}, rulings.ConnectionTimeout},
		{&legError{legConnect, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}}, rulings.DestinationUnroutable},
		{&legError{legConnect, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}}, rulings.DestinationUnroutable},
		{&legError{legConnect, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EMFILE)}}, rulings.DestinationUnavailable},
		{&legError{legTLS, context.DeadlineExceeded}, rulings.ConnectionTimeout},
		{&legError{legTLS, io.EOF}, rulings.TLSProtocolError},
		{&legError{legTLS, tls.RecordHeaderError{Msg: "x"}}, rulings.TLSProtocolError},
		{&legError{legTLS, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, rulings.TLSCertificateError},
		{&legError{legTLS, x509.HostnameError{Certificate: &x509.Certificate{}}}, rulings.TLSCertificateError},
		{&legError{legConnect, &net.DNSError{IsTimeout: true}}, rulings.DNSTimeout},
		{&legError{legConnect, &net.DNSError{IsNotFound: true}}, rulings.DNSError},
		{&legError{legConnect, fmt.Errorf("x: %w", errPrivate)}, rulings.PrivateAddress},
		{&legError{legConnect, fmt.Errorf("x: %w", errLoop)}, rulings.Loop},
		{syscall.ECONNRESET, rulings.ConnectionTerminated},
		{io.ErrUnexpectedEOF, rulings.ConnectionTerminated},
		{errors.New("net/http: something new"), rulings.HTTPProtocolError},
	} {
		f := failureOf(c.err)
		if f.reason != c.want || f.told.String() == "" || leaks.MatchString(f.told.String()) || f.detail != c.err.Error() {
			t.Errorf("%v is %s, told %q", c.err, f.reason, f.told)
		}
		if whose := f.reason.Facts().Whose; whose == rulings.WhoseUpstream && f.reason.Facts().ProxyError != string(f.reason) {
			t.Errorf("%s: Proxy-Status error %s", f.reason, f.reason.Facts().ProxyError)
		}
	}
}

// net/http quotes what it cannot read, and that may be a field's value or a body.
func TestE23NoFailureQuotesWhatWasSent(t *testing.T) {
	for _, c := range []struct{ name, answer, detail string }{
		{"a field without a colon", "HTTP/1.1 200 OK\r\nSet-Cookie sid=hunter2\r\n\r\n", "missing colon"},
		{"a field whose name is none", "HTTP/1.1 200 OK\r\nX-\x01Secret: hunter2\r\n\r\n", "malformed MIME header"},
		{"a first field that is a continuation", "HTTP/1.1 200 OK\r\n hunter2\r\n\r\n", "malformed MIME header"},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: hunter2\r\n\r\n", "bad Content-Length"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: hunter2\r\n\r\n", "Content-Length"},
		{"a coding of the transfer that is unknown", "HTTP/1.1 200 OK\r\nTransfer-Encoding: hunter2\r\n\r\n", "transfer encoding"},
		{"a body without a head", "hunter2\r\n\r\n", "malformed HTTP response"},
		{"a body that looks like a head", "this hunter2 is the body\r\n\r\n", "malformed HTTP status code"},
		{"a trailer without a colon", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nSet-Cookie hunter2\r\n\r\n", "missing colon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := func(v *visit) {
				v.say(c.answer)
				v.Close()
			}
			e := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
			if resp, err := e.client("", false).Get(startSite(t, false, serve).url + "/page"); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body) // it may break off
				resp.Body.Close()
			}
			f := startEdge(t, edgeSetup{})
			s := startSite(t, false, serve)
			s.own = true
			resp, err := f.client("", false).Get(s.url + "/page")
			text(t, resp, err)
			for _, r := range []record{e.crossing("/page"), f.probes("robots")[0]} {
				if detail := fmt.Sprint(r.at("failure.detail")); !strings.Contains(detail, c.detail) || strings.Contains(r.raw, "hunter2") {
					t.Errorf("the record says %q in %s", detail, r.raw)
				}
			}
		})
	}
}

// What the certificate of a site says of itself is public, and helps whoever runs
// the edge.
func TestN19TheFaultOfACertificateIsQuotedWhole(t *testing.T) {
	err := &legError{legTLS, &tls.CertificateVerificationError{Err: errors.New(`while trying to verify "Some CA"`)}}
	if f := failureOf(err); f.detail != err.Error() {
		t.Errorf("the detail is %q", f.detail)
	}
}

// An origin's own failures are answers like any other, and never look like one
// of the edge's.
func TestN19AnOriginsErrorsAreNotTheEdges(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Status", "wayleave; error=loop")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"reason":"undecided"}`)
	})
	resp, body := get(t, e.client("", true), o.URL+"/")
	if resp.StatusCode != 503 || resp.Header.Get("Proxy-Status") != "" || body != `{"reason":"undecided"}` {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	e.crossing(o.URL).want(t, map[string]any{"outcome": "delivered", "http_status": 503, "refusal": nil, "told": nil, "failure": nil, "challenge": nil})
}
