package main

import (
	"net/url"
	"strings"
)

// A variable is one environment variable a client reads.
type variable struct{ name, value string }

// A client is what an agent's environment is made from (N24).
type clientEnv struct {
	proxy  *url.URL // with the session as user name
	bundle string   // bundle.pem: the system's roots and ours
	p12    string   // the same for Java
}

// bundleVariables name a PEM bundle, each for the runtimes that read it.
var bundleVariables = []string{
	"SSL_CERT_FILE",       // OpenSSL, Go, Python's ssl, Ruby, Rust native roots
	"NODE_EXTRA_CA_CERTS", // Node
	"REQUESTS_CA_BUNDLE",  // Python requests
	"CURL_CA_BUNDLE",      // curl, and requests where the other is not set
	"GIT_SSL_CAINFO",
	"PIP_CERT",
	"CARGO_HTTP_CAINFO",
	"AWS_CA_BUNDLE",
	"DENO_CERT",
	"NIX_SSL_CERT_FILE",
	"npm_config_cafile",
}

// proxyVariables name the proxy. Programs disagree about the letter case: curl
// reads http_proxy in lower case only, others look for capitals first.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY", "WSS_PROXY"}

// variables returns every variable, in a fixed order. NO_PROXY is set and empty,
// so that one inherited from elsewhere sends nothing round the edge.
func (e clientEnv) variables(javaOptions string) []variable {
	var out []variable
	for _, name := range proxyVariables {
		out = append(out, variable{name, e.proxy.String()}, variable{strings.ToLower(name), e.proxy.String()})
	}
	out = append(out, variable{"NO_PROXY", ""}, variable{"no_proxy", ""})
	for _, name := range bundleVariables {
		out = append(out, variable{name, e.bundle})
	}
	return append(out,
		// Node reads the proxy variables only when told, from 22.21 and 24.0 on.
		variable{"NODE_USE_ENV_PROXY", "1"},
		// git waits for a 407 before it sends credentials, which an open edge
		// never answers.
		variable{"GIT_HTTP_PROXY_AUTHMETHOD", "basic"},
		variable{"JAVA_TOOL_OPTIONS", e.java(javaOptions)},
	)
}

// Ours begin and end so; what stands between is of an edge, this or another.
const (
	javaFirst = "-Dhttp.proxyHost="
	javaLast  = "-Djavax.net.ssl.trustStoreType=PKCS12"
)

// java returns the JVM's options behind those that are set already, in place of
// those an edge set. Java reads no proxy variable, leaves loopback out unless
// nonProxyHosts is empty, and has a trust store of its own.
func (e clientEnv) java(set string) string {
	host, port := e.proxy.Hostname(), e.proxy.Port()
	if before, rest, ok := strings.Cut(set, javaFirst); ok {
		if _, after, ok := strings.Cut(rest, javaLast); ok {
			set = before + strings.TrimSpace(after)
		}
	}
	return strings.TrimSpace(strings.TrimSpace(set) + " " + strings.Join([]string{
		javaFirst + host, "-Dhttp.proxyPort=" + port,
		"-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=",
		javaQuote("-Djavax.net.ssl.trustStore=" + e.p12), javaLast,
	}, " "))
}

// javaQuote quotes an option the way the JVM parts its options: at white space
// outside quotes.
func javaQuote(option string) string {
	if !strings.ContainsAny(option, " \t'\"") {
		return option
	}
	if strings.Contains(option, `"`) {
		return "'" + option + "'"
	}
	return `"` + option + `"`
}

// proxyURL is the URL under which a session meets the edge. Without a password
// git asks for one and Python and Node send no credentials at all: hence the x
// where none is needed.
func proxyURL(address, session string, token secret) *url.URL {
	if token == "" {
		token = "x"
	}
	return &url.URL{Scheme: "http", User: url.UserPassword(session, string(token)), Host: address}
}
