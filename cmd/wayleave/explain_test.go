package main

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
)

func TestA11TheTargetIsRuledAsWritten(t *testing.T) {
	tests := map[string]struct {
		url, origin, target string
	}{
		"a path":                         {"https://site.example/a/b?c=d", "https://site.example", "/a/b?c=d"},
		"no path":                        {"https://site.example", "https://site.example", "/"},
		"a query and no path":            {"http://site.example?q", "http://site.example", "/?q"},
		"a fragment is never sent":       {"http://site.example/a#b?c", "http://site.example", "/a"},
		"escapes and dot segments stay":  {"http://site.example/a/../%70rivate/%2e", "http://site.example", "/a/../%70rivate/%2e"},
		"a path that begins with //":     {"http://site.example//x", "http://site.example", "//x"},
		"the host in its normal form":    {"HTTPS://SITE.example.:8443/", "https://site.example:8443", "/"},
		"an address in another spelling": {"http://0x7f.1/", "http://127.0.0.1", "/"},
		"IPv6":                           {"http://[::1]:80/", "http://[::1]", "/"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			origin, target, err := splitURL(tt.url)
			if err != nil || origin.String() != tt.origin || target != tt.target {
				t.Errorf("%s %s, error %v; want %s %s", origin, target, err, tt.origin, tt.target)
			}
		})
	}
	for _, url := range []string{"http://user:hunter2@site.example/", "ftp://u:hunter2@site.example/", "http://u:hunter2@[::1/?token=hunter2"} {
		if _, _, err := splitURL(url); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error quotes a secret: %v", err)
		}
	}
	for _, url := range []string{"", "site.example/a", "ftp://site.example/", "http://", "http:///a", "http://u:p@site.example/", "http://site.example:x/", "http://a b/"} {
		if origin, target, err := splitURL(url); err == nil {
			t.Errorf("%q was taken for %s %s", url, origin, target)
		}
	}
}

func FuzzSplitURL(f *testing.F) {
	seeds := []string{"https://site.example/a?b#c", "http://[::1]:1/", "http://0x7f.1//", "://", "http://a%00b/", "http://?", "HTTP://x#"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, url string) {
		origin, target, err := splitURL(url)
		if err != nil {
			return
		}
		if target == "" || target[0] != '/' {
			t.Errorf("%q has the target %q", url, target)
		}
		again, err := hostkey.ParseOrigin(origin.Scheme, origin.Authority())
		if err != nil || again != origin {
			t.Errorf("%q has the origin %v, which reads back as %v, error %v", url, origin, again, err)
		}
	})
}
