package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// seed gives f its seeds and fails when there are none.
func seed(f *testing.F, seeds []string) {
	f.Helper()
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
}

// A CONNECT target that is accepted names one origin, in a form that names the
// same one again; one that is refused says why, to the log and to the agent.
func FuzzConnectTarget(f *testing.F) {
	var seeds []string
	for _, c := range connectTargets {
		seeds = append(seeds, c.target)
	}
	seed(f, append(seeds, "0x7f.1:80", "[::ffff:127.0.0.1]:443", "münchen.test:443", "a:443:443", "[::1]:+443", "x:0443", "\x00:1", "h:1\r\nX: y"))
	f.Fuzz(func(t *testing.T, target string) {
		o, rej := (*Edge)(nil).connectTarget(&http.Request{RequestURI: target})
		if rej != nil {
			if o != (hostkey.Origin{}) || rej.detail == "" || rej.told.String() == "" || rej.reason.Facts().Status/100 != 4 {
				t.Fatalf("refused as %+v with %v", rej, o)
			}
			return
		}
		if key, err := hostkey.Key(o.Host); err != nil || key != o.Host || o.Port == 0 || o.Scheme != "https" {
			t.Fatalf("%q is taken for %+v (key %q, %v)", target, o, key, err)
		}
		if again, rej := (*Edge)(nil).connectTarget(&http.Request{RequestURI: o.Authority()}); rej != nil || again != o {
			t.Fatalf("%q is %v, but its own form %q is %v, %v", target, o, o.Authority(), again, rej)
		}
		if !strings.Contains(target, ":") || strings.ContainsAny(target, "/@?#% \r\n") {
			t.Fatalf("%q is no host and port", target)
		}
	})
}

// What a tunnel carries is known from its first octets, once known it does not
// change with those that follow, and it is known soon.
func FuzzContentOf(f *testing.F) {
	seeds := []string{"", "\x16", "\x16\x03\x01\x02\x00", "GET / HTTP/1.1\r\n", "GE", "SSH-2.0-x\r\n", " GET", "\r\nGET / HTTP/1.1", "PRI * HTTP/2.0\r\n\r\n", "M-SEARCH ",
		strings.Repeat("A", maxMethod), strings.Repeat("A", maxMethod) + " ", strings.Repeat("A", maxMethod+1), "\x80", "G\x00"}
	kinds := map[content]bool{}
	for _, s := range seeds {
		kind, known := contentOf([]byte(s))
		kinds[kind] = kinds[kind] || known
	}
	if len(kinds) != 3 || !kinds[contentOther] || !kinds[contentTLS] || !kinds[contentHTTP] {
		f.Fatalf("the seeds show %v", kinds)
	}
	seed(f, seeds)
	f.Fuzz(func(t *testing.T, s string) {
		final, known := contentOf([]byte(s))
		if !known && (final != contentOther || len(s) > maxMethod) {
			t.Fatalf("%d octets do not tell whether this is %d", len(s), final)
		}
		for i := range s {
			if kind, early := contentOf([]byte(s[:i])); early && (!known || kind != final) {
				t.Fatalf("after %d octets %d, after %d octets %d", i, kind, len(s), final)
			}
		}
		if method, _, found := strings.Cut(s, " "); final == contentHTTP && (!found || method == "" || len(method) > maxMethod) {
			t.Fatalf("%q is taken for HTTP", s)
		}
		if final == contentTLS && s[0] != 0x16 {
			t.Fatalf("%q is taken for TLS", s)
		}
	})
}

// The form of a reply is one the client named, whatever way its list is written.
func FuzzPreferred(f *testing.F) {
	var seeds []string
	for _, c := range accepts {
		if got := preferred(strings.Split(c.accept, "|")); got != c.want {
			f.Fatalf("%q prefers %q, want %q", c.accept, got, c.want)
		}
		seeds = append(seeds, c.accept)
	}
	seed(f, append(seeds, "text/html;q=NaN", "text/html;q=1e0", "text/html;q=+Inf", "text/html;;q=1;q=0", "text/html;a=\",\";q=1"))
	f.Fuzz(func(t *testing.T, accept string) {
		lines := strings.Split(accept, "|")
		form := preferred(lines)
		switch form {
		case "":
		case "text/html", "text/plain":
			if !strings.Contains(strings.ToLower(accept), form) {
				t.Fatalf("%q was not asked for", form)
			}
		default:
			t.Fatalf("no such form: %q", form)
		}
		// RFC 9110 5.3: a list may be given in one field or in several.
		if joined := preferred([]string{strings.Join(lines, ",")}); joined != form {
			t.Fatalf("in several fields %q, in one %q", form, joined)
		}
		if first := preferred(append([]string{"application/json"}, lines...)); first != "" {
			t.Fatalf("JSON comes first and is as good as any, and the form is %q", first)
		}
	})
}

// What is cut out of a request target is what stands in it, from its first slash
// behind the authority on, octet for octet.
func FuzzTargetOf(f *testing.F) {
	seeds := append([]string{"", "*", "http://h", "http://h?q", "http://h/", "HTTP://h:80/a?b", "http://h//x", "http://h?http://i/j", "a:443", "://", "http://", "http://?", "http:///x"}, targets...)
	for uri, want := range map[string]string{"http://h": "/", "http://h?q": "/?q", "http://h/a?b": "/a?b", "http://h//x": "//x", "*": "*", "/a": "/a"} {
		if got := targetOf(uri); got != want {
			f.Fatalf("%s: %s, want %s", uri, got, want)
		}
	}
	seed(f, seeds)
	f.Fuzz(func(t *testing.T, uri string) {
		target := targetOf(uri)
		if target != uri && !strings.HasPrefix(target, "/") {
			t.Fatalf("%q: %q does not begin with a slash", uri, target)
		}
		if target != "/" && !strings.HasSuffix(uri, target) && !strings.HasSuffix(uri, strings.TrimPrefix(target, "/")) {
			t.Fatalf("%q: %q does not stand in it", uri, target)
		}
		if again := targetOf(target); again != target && target != uri {
			t.Fatalf("%q: %q, then %q", uri, target, again)
		}
		// A target behind an authority is the target itself.
		if strings.HasPrefix(uri, "/") {
			if got := targetOf("http://site.test" + uri); got != uri {
				t.Fatalf("behind an authority %q is %q", uri, got)
			}
		}
	})
}

// A list of ports has the ports it names and no others.
func FuzzParsePorts(f *testing.F) {
	seeds := []string{"443", "9000-9999", "1-65535", "0", "65536", "9-1", "1-", "-1", "+1", "1-2-3", " 80", "0080", "1_0", "0x50", ""}
	accepted := 0
	for _, s := range seeds {
		if _, err := ParsePorts([]string{s}); err == nil {
			accepted++
		}
	}
	if accepted == 0 || accepted == len(seeds) {
		f.Fatalf("%d of %d seeds are ports", accepted, len(seeds))
	}
	seed(f, seeds)
	f.Fuzz(func(t *testing.T, item string) {
		s, err := ParsePorts([]string{item})
		if err != nil {
			return
		}
		if s.Has(0) || strings.Trim(item, "0123456789-") != "" {
			t.Fatalf("%q is taken for ports, port 0 listed: %v", item, s.Has(0))
		}
		listed := 0
		for port := range 1 << 16 {
			if s.Has(uint16(port)) {
				listed++
			}
		}
		if listed == 0 || !strings.Contains(item, "-") && listed != 1 {
			t.Fatalf("%q lists %d ports", item, listed)
		}
	})
}

// Proxy credentials are read as they were written (RFC 7617), and nothing else is.
func FuzzBasicCredentials(f *testing.F) {
	seeds := []string{basic("agent-7", "x"), basic("", ""), basic("a", "b:c"), "Basic ", "basic YTpi", "Basic YTpi=", "Bearer x", "", "Basic\tYTpi", "Basic  YTpi "}
	if user, password, ok := basicCredentials(seeds[2]); !ok || user != "a" || password != "b:c" {
		f.Fatalf("%q is read as %q, %q", seeds[2], user, password)
	}
	seed(f, seeds)
	f.Fuzz(func(t *testing.T, field string) {
		user, password, ok := basicCredentials(field)
		if !ok {
			return
		}
		if strings.Contains(user, ":") || !strings.EqualFold(field[:6], "Basic ") {
			t.Fatalf("%q is read as %q, %q", field, user, password)
		}
		if u, p, ok := basicCredentials(basic(user, password)); !ok || u != user || p != password {
			t.Fatalf("%q, %q are read back as %q, %q", user, password, u, p)
		}
	})
}
