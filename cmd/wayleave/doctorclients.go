package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// A clientKind is a family of HTTP clients and the variables it reads. Of each
// list the first that is set counts; an empty trust list means that the client
// has no setting of its own.
type clientKind struct {
	name  string
	proxy []string
	trust []string
	also  []variable // must have exactly these values
}

var (
	anyCase = []string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
	capital = []string{"HTTPS_PROXY", "https_proxy"}
)

// clientKinds are the clients that N24 promises to work, by what they read.
var clientKinds = []clientKind{
	{"curl", anyCase, []string{"CURL_CA_BUNDLE", "SSL_CERT_FILE"}, nil},
	{"git", anyCase, []string{"GIT_SSL_CAINFO"}, []variable{{"GIT_HTTP_PROXY_AUTHMETHOD", "basic"}}},
	{"Python requests", anyCase, []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}, nil},
	{"Python httpx, urllib", anyCase, []string{"SSL_CERT_FILE"}, nil},
	{"pip", anyCase, []string{"PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}, nil},
	{"Node", anyCase, []string{"NODE_EXTRA_CA_CERTS"}, []variable{{"NODE_USE_ENV_PROXY", "1"}}},
	{"npm", anyCase, []string{"npm_config_cafile", "NODE_EXTRA_CA_CERTS"}, nil},
	{"Deno", capital, []string{"DENO_CERT"}, nil},
	{"Go", capital, []string{"SSL_CERT_FILE"}, nil},
	{"cargo", anyCase, []string{"CARGO_HTTP_CAINFO", "SSL_CERT_FILE"}, nil},
	{"AWS CLI", capital, []string{"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}, nil},
	{"Nix", anyCase, []string{"NIX_SSL_CERT_FILE", "SSL_CERT_FILE"}, nil},
}

// checkClients says of the environment this process has which clients would go
// round the edge at address or would not trust it. An environment in which
// nothing points at the edge is only a note: doctor need not run as an agent.
func (c *cli) checkClients(address string, ca *x509.Certificate) []finding {
	e := environment{c.getenv, address, ca}
	if !e.begun() {
		return []finding{{"clients", note, `this environment does not lead through an edge; for an agent: eval "$(wayleave env)"`}}
	}
	var out []finding
	if v := firstSet(c.getenv, []string{"NO_PROXY", "no_proxy"}); v.value != "" {
		out = append(out, finding{v.name, bad, fmt.Sprintf("%q: requests for these hosts go round the edge", v.value)})
	}
	for _, k := range clientKinds {
		out = append(out, e.check(k))
	}
	return append(out, e.checkJava())
}

// An environment is what a client would find, and the edge it should lead to.
type environment struct {
	getenv  func(string) string
	address string // host:port of the proxy
	ca      *x509.Certificate
}

// begun reports whether anything in the environment is meant for the edge.
func (e environment) begun() bool {
	for _, name := range append([]string{"HTTP_PROXY", "http_proxy"}, anyCase...) {
		if e.leadsHere(e.getenv(name)) {
			return true
		}
	}
	for _, name := range bundleVariables {
		if e.ca != nil && e.trusts(e.getenv(name)) {
			return true
		}
	}
	return false
}

// check says whether one kind of client would cross through the edge.
func (e environment) check(k clientKind) finding {
	name := "client " + k.name
	proxy := firstSet(e.getenv, k.proxy)
	switch {
	case proxy.value == "":
		return finding{name, bad, "would go round the edge: none of " + strings.Join(k.proxy, ", ") + " is set"}
	case !e.leadsHere(proxy.value):
		return finding{name, bad, fmt.Sprintf("would go elsewhere: %s is not the proxy on %s", proxy.name, e.address)}
	}
	for _, want := range k.also {
		if got := e.getenv(want.name); got != want.value {
			return finding{name, bad, fmt.Sprintf("would fail or go round the edge: %s is %q, not %q", want.name, got, want.value)}
		}
	}
	trust := firstSet(e.getenv, k.trust)
	switch {
	case trust.value == "":
		return finding{name, bad, "would not trust the edge: none of " + strings.Join(k.trust, ", ") + " is set"}
	case !e.trusts(trust.value):
		return finding{name, bad, fmt.Sprintf("would not trust the edge: %s names a file without its CA", trust.name)}
	}
	return finding{name, fine, "by " + proxy.name + " and " + trust.name}
}

// checkJava looks into the JVM's options, which are its only way.
func (e environment) checkJava() finding {
	const name = "client Java"
	host, port, err := net.SplitHostPort(e.address)
	if err != nil {
		return finding{name, bad, err.Error()}
	}
	options := e.getenv("JAVA_TOOL_OPTIONS")
	for _, want := range []string{"-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port, "-Dhttp.nonProxyHosts="} {
		if !strings.Contains(options, want) {
			return finding{name, bad, "would go round the edge: JAVA_TOOL_OPTIONS lacks " + want}
		}
	}
	if !strings.Contains(options, "-Djavax.net.ssl.trustStore=") {
		return finding{name, bad, "would not trust the edge: JAVA_TOOL_OPTIONS names no trust store"}
	}
	return finding{name, fine, "by JAVA_TOOL_OPTIONS"}
}

// firstSet returns the first variable of names that has a value.
func firstSet(getenv func(string) string, names []string) variable {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return variable{name, v}
		}
	}
	return variable{}
}

func (e environment) leadsHere(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host == e.address
}

// trusts reports whether the PEM file holds the edge's CA.
func (e environment) trusts(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil || e.ca == nil {
		return false
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return false
		}
		if bytes.Equal(block.Bytes, e.ca.Raw) {
			return true
		}
	}
}
