package main

import (
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// awkward is an environment with every character that some format treats as
// special.
func awkward() []variable {
	e := clientEnv{
		proxy:  proxyURL("127.0.0.1:3128", "run-1", ""),
		bundle: `/tmp/it's a "test" $HOME \n` + "`id`" + `/bundle.pem`,
		p12:    "/tmp/it's here/bundle.p12",
	}
	return e.variables("-Xmx64m")
}

func asMap(vars []variable) map[string]string {
	m := make(map[string]string, len(vars))
	for _, v := range vars {
		m[v.name] = v.value
	}
	return m
}

func TestN24ShellReadsBackWhatItIsGiven(t *testing.T) {
	script := string(envFormats["sh"](awkward())) + "\nenv -0\n"
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "NO_PROXY=left.example"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	for _, v := range awkward() {
		if got[v.name] != v.value {
			t.Errorf("%s is %q after sh, want %q", v.name, got[v.name], v.value)
		}
	}
}

// unquote turns a value printed by one format back, by that format's own rules.
var unquote = map[string]struct {
	prefix, middle string
	value          func(string) string
}{
	"fish": {"set -gx ", " ", func(s string) string {
		return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(strings.Trim(s, "'"))
	}},
	"powershell": {"$env:", " = ", func(s string) string {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}},
	"dotenv": {"", "=", func(s string) string {
		switch {
		case strings.HasPrefix(s, "'"):
			return strings.Trim(s, "'")
		case strings.HasPrefix(s, `"`):
			return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`).Replace(s[1 : len(s)-1])
		}
		return s
	}},
}

func TestN24EveryFormatReadsBack(t *testing.T) {
	want := asMap(awkward())
	for name, format := range unquote {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for line := range strings.Lines(string(envFormats[name](awkward()))) {
				rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), format.prefix)
				key, value, cut := strings.Cut(rest, format.middle)
				if !ok || !cut {
					t.Fatalf("line %q", line)
				}
				got[key] = format.value(value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		got := map[string]string{}
		if err := json.Unmarshal(envFormats["json"](awkward()), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestN24PlainValuesAreNotQuotedInDotenv(t *testing.T) {
	// docker's --env-file would make quotes part of the value.
	e := clientEnv{proxy: proxyURL("127.0.0.1:3128", "run-1", ""), bundle: "/s/ca/bundle.pem", p12: "/s/ca/bundle.p12"}
	for line := range strings.Lines(string(envFormats["dotenv"](e.variables("")))) {
		if strings.ContainsAny(line, `'"`) {
			t.Errorf("quoted: %s", line)
		}
	}
}

func TestC02EnvironmentHandedToAgents(t *testing.T) {
	got := asMap(awkward())
	want := []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY", "WSS_PROXY", "NO_PROXY",
		"http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy", "no_proxy",
		"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
		"CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE", "npm_config_cafile",
		"NODE_USE_ENV_PROXY", "GIT_HTTP_PROXY_AUTHMETHOD", "JAVA_TOOL_OPTIONS",
	}
	for _, name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d variables, want %d", len(got), len(want))
	}
	if got["NODE_USE_ENV_PROXY"] != "1" || got["GIT_HTTP_PROXY_AUTHMETHOD"] != "basic" {
		t.Error("N24: Node or git would go past the proxy")
	}
	if got["https_proxy"] != "http://run-1:x@127.0.0.1:3128" {
		t.Errorf("N24: proxy is %s", got["https_proxy"])
	}
}

func TestC08NoProxyIsEmpty(t *testing.T) {
	// Clients disagree about ranges, wildcards and ports in it; and whatever it
	// names goes round the edge.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if v, ok := asMap(awkward())[name]; !ok || v != "" {
			t.Errorf("%s is %q, set %v", name, v, ok)
		}
	}
}

func TestN24JavaOptions(t *testing.T) {
	e := clientEnv{proxy: proxyURL("127.0.0.1:3128", "s", "token"), p12: "/a b/bundle.p12"}
	want := `-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 ` +
		`-Dhttp.nonProxyHosts= "-Djavax.net.ssl.trustStore=/a b/bundle.p12" -Djavax.net.ssl.trustStoreType=PKCS12`
	tests := map[string]struct{ set, want string }{
		"nothing is set":             {"", want},
		"the agent's options stay":   {"-Xmx64m", "-Xmx64m " + want},
		"ours are not set once more": {"-Xmx64m " + want, "-Xmx64m " + want},
		"another edge's are replaced": {
			"-Xmx64m " + clientEnv{proxy: proxyURL("127.0.0.1:9", "t", ""), p12: "/other/bundle.p12"}.java("") + " -ea", "-Xmx64m -ea " + want,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, e.java(tt.set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestN24ProxyURLCarriesTheTokenOrAnX(t *testing.T) {
	for token, want := range map[secret]string{"": "x", "s3cr:et/@": "s3cr:et/@"} {
		u, err := url.Parse(proxyURL("[::1]:1", "run-1", token).String())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := u.User.Password(); got != want || u.User.Username() != "run-1" || u.Host != "[::1]:1" {
			t.Errorf("parsed back: %s", u)
		}
	}
}
