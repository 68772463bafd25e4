package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// Whatever the Host field says, only a loopback name passes for the listener.
func FuzzHostA2(f *testing.F) {
	seeds := []string{"localhost", "127.0.0.1:3129", "[::1]:80", "[::1%25lo]", "127.0.0.1.evil.test", "localhost:x", "::1", "[[::1]]", "127.0.0.1:80:80", ""}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	d := new(desk)
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if !d.ownName(r) {
			return
		}
		name := host
		if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') && host != "::1" {
			name = host[:i]
		}
		addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if err != nil && !strings.EqualFold(name, "localhost") || err == nil && (!addr.IsLoopback() || addr.Zone() != "") {
			t.Fatalf("%q passes for the listener", host)
		}
	})
}

// A query is read or refused with the parameter named, never half.
func FuzzQueryA6(f *testing.F) {
	seeds := []string{"", "limit=5&host=a.test", "term=sha256:00", "status=403&gap=true&from=2026-01-01T00:00:00Z", "a=1", "limit=1&limit=2", "%zz", "cursor=AAAA"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := readQuery(&http.Request{URL: &url.URL{RawQuery: query}}, filterParameters...)
		if err != nil {
			if p, ok := errors.AsType[*problem](err); !ok || p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Fatalf("%q: %v", query, err)
			}
			return
		}
		if q.Limit < 1 || q.Limit > 1000 {
			t.Fatalf("%q has the limit %d", query, q.Limit)
		}
	})
}
