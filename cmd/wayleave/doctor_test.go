package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestC03EachClientIsNamedThatAMissingVariableLeavesOutside takes every variable
// out of a whole environment, one at a time.
func TestC03EachClientIsNamedThatAMissingVariableLeavesOutside(t *testing.T) {
	root := testRoot(t)
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundle, root, 0o600); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(root)
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	whole := clientEnv{proxyURL("127.0.0.1:3128", "s", ""), bundle, "/s/bundle.p12"}.variables("")
	outside := func(without ...string) string {
		set := asMap(whole)
		for _, name := range without {
			delete(set, name)
		}
		c := &cli{getenv: func(name string) string { return set[name] }}
		var named []string
		for _, f := range c.checkClients("127.0.0.1:3128", ca) {
			if f.Verdict == bad {
				named = append(named, strings.TrimPrefix(f.Name, "client "))
			}
		}
		return strings.Join(named, "; ")
	}
	tests := map[string]struct {
		without []string
		want    string
	}{
		"nothing is missing":                    {nil, ""},
		"one letter case is missing":            {[]string{"https_proxy", "all_proxy"}, ""},
		"NODE_USE_ENV_PROXY":                    {[]string{"NODE_USE_ENV_PROXY"}, "Node"},
		"NODE_EXTRA_CA_CERTS":                   {[]string{"NODE_EXTRA_CA_CERTS"}, "Node"},
		"GIT_SSL_CAINFO":                        {[]string{"GIT_SSL_CAINFO"}, "git"},
		"GIT_HTTP_PROXY_AUTHMETHOD":             {[]string{"GIT_HTTP_PROXY_AUTHMETHOD"}, "git"},
		"SSL_CERT_FILE":                         {[]string{"SSL_CERT_FILE"}, "Python httpx, urllib; Go"},
		"REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE": {[]string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}, "Python requests"},
		"DENO_CERT":                             {[]string{"DENO_CERT"}, "Deno"},
		"JAVA_TOOL_OPTIONS":                     {[]string{"JAVA_TOOL_OPTIONS"}, "Java"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := outside(tt.without...); got != tt.want {
				t.Errorf("outside are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestC03AVariableThatLeadsElsewhereIsNamed(t *testing.T) {
	set := map[string]string{
		"HTTPS_PROXY": "http://s:x@127.0.0.1:3128", "https_proxy": "http://other.example:8080", "SSL_CERT_FILE": "/nowhere.pem", "NO_PROXY": "10.0.0.0/8",
	}
	c := &cli{getenv: func(name string) string { return set[name] }}
	said := map[string]string{}
	for _, f := range c.checkClients("127.0.0.1:3128", nil) {
		said[f.Name] = string(f.Verdict) + " " + f.Detail
	}
	for name, want := range map[string]string{
		"client curl": "fail would go elsewhere: https_proxy is not the proxy on 127.0.0.1:3128",
		"client Go":   "fail would not trust the edge: SSL_CERT_FILE names a file without its CA",
		"NO_PROXY":    `fail "10.0.0.0/8": requests for these hosts go round the edge`,
	} {
		if said[name] != want {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
}
