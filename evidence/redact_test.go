package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var standIn = regexp.MustCompile(`~[0-9a-f]{12}`)

func testRedactor() *Redactor {
	return newRedactor([]byte("key"), []string{"ticket", "My_Ref"}, []string{"hooks.example/services/*", "https://API.example/bot/*/send", "all.example",
		"bücher.example/x", "[2001:DB8::1]/x", "192.0.2.7/x", "tls.example:443/x", "high.example:8443/x"})
}

func TestRedactE23ReplacesSecretsAndNothingElse(t *testing.T) {
	for _, row := range []struct{ name, url, want string }{ // ~ stands for any stand-in
		{"nothing secret stays as written", "https://h/a%2Fb/../c?q=1&page=2#top", "https://h/a%2Fb/../c?q=1&page=2#top"},
		{"userinfo is dropped", "https://user:pw@h:8443/a", "https://h:8443/a"},
		{"userinfo with an @ in it", "https://user:p@w@h/a", "https://h/a"},
		{"userinfo without a scheme", "//user@h/a", "//h/a"},
		{"userinfo of a bare authority", "user:pw@h:443", "h:443"},
		{"userinfo behind userinfo of nothing", "u@//user:pw@h/a", "//h/a"},
		{"an @ in the path is no userinfo", "https://h/@user/a@b", "https://h/@user/a@b"},
		{"an @ in the query is no userinfo", "https://h/?to=a@b", "https://h/?to=a@b"},

		{"a token", "https://h/?token=abc", "https://h/?token=~"},
		{"in capitals", "https://h/?TOKEN=abc&x=1", "https://h/?TOKEN=~&x=1"},
		{"behind an underscore", "https://h/?access_token=abc", "https://h/?access_token=~"},
		{"behind a hyphen", "https://h/?X-Amz-Signature=abc&X-Amz-Date=1", "https://h/?X-Amz-Signature=~&X-Amz-Date=1"},
		{"in camel case", "https://h/?accessKeyId=abc", "https://h/?accessKeyId=~"},
		{"at the end of a word", "https://h/?mytoken=abc", "https://h/?mytoken=~"},
		{"in brackets", "https://h/?user[password]=abc", "https://h/?user[password]=~"},
		{"with an escaped letter", "https://h/?%74oken=abc", "https://h/?%74oken=~"},
		{"with escaped brackets", "https://h/?user%5Btoken%5D=abc", "https://h/?user%5Btoken%5D=~"},
		{"with a stray percent sign", "https://h/?100%&to%6ben=abc&a%=1", "https://h/?100%&to%6ben=~&a%=1"},
		{"with a space", "https://h/?auth+code=abc", "https://h/?auth+code=~"},
		{"a word the operator named", "https://h/?my-ticket=abc", "https://h/?my-ticket=~"},
		{"a whole name the operator named", "https://h/?my_ref=abc", "https://h/?my_ref=~"},

		{"a word that only contains one stays", "https://h/?monkey=1&keyword=2&tokens=3&coder=4", "https://h/?monkey=1&keyword=2&tokens=3&coder=4"},
		{"a name without a value stays", "https://h/?token&token=&sig", "https://h/?token&token=&sig"},
		{"a value with = in it", "https://h/?sig=a=b==&x=1", "https://h/?sig=~&x=1"},
		{"a value with ; in it", "https://h/?sig=a;b&x=1", "https://h/?sig=~&x=1"},
		{"a name behind ;", "https://h/?x=1;sig=abc&y=2", "https://h/?x=1;sig=~&y=2"},
		{"a URL inside the query", "https://h/?next=/b?token=abc", "https://h/?next=/b?token=~"},
		{"twice the same name", "https://h/?key=a&key=b", "https://h/?key=~&key=~"},

		{"a path parameter", "https://h/a;sig=abc/b", "https://h/a;sig=~/b"},
		{"the second path parameter", "https://h/a;v=1;jsession=1;SID=abc/b;x", "https://h/a;v=1;jsession=1;SID=~/b;x"},
		{"a fragment", "https://h/#access_token=abc&state=1", "https://h/#access_token=~&state=1"},
		{"a route in a fragment", "https://h/#/cb?code=abc", "https://h/#/cb?code=~"},
		{"a relative URL", "/a?sid=abc", "/a?sid=~"},

		{"a segment the operator named", "https://hooks.example/services/T1/B2", "https://hooks.example/services/~/~"},
		{"whatever the port and the case", "https://HOOKS.example:443/services/T1", "https://HOOKS.example:443/services/~"},
		{"whatever its spelling", "https://hooks.example/%73ervices/T1?x=1", "https://hooks.example/%73ervices/~?x=1"},
		{"and not another path", "https://hooks.example/other/T1", "https://hooks.example/other/T1"},
		{"nor another host", "https://h/services/T1", "https://h/services/T1"},
		{"what * matches and what follows", "https://api.example/bot/123/send/m", "https://api.example/bot/~/send/~"},
		{"a whole host", "https://all.example/a/b", "https://all.example/~/~"},
		{"a host with a dot behind it", "http://hooks.example./services/T1", "http://hooks.example./services/~"},
		{"a host with an escape in it", "http://hooks%2Eexample:80/services/T1", "http://hooks%2Eexample:80/services/~"},
		{"a host in A-labels", "https://xn--bcher-kva.example/x/T1", "https://xn--bcher-kva.example/x/~"},
		{"a host in U-labels", "https://BÜCHER.example/x/T1", "https://BÜCHER.example/x/~"},
		{"an IPv6 address at length", "https://[2001:db8:0:0::1]:8443/x/T1", "https://[2001:db8:0:0::1]:8443/x/~"},
		{"an IPv4 address as a number", "http://0xC0000207/x/T1", "http://0xC0000207/x/~"},
		{"a host that is none", "https://hooks..example/services/T1", "https://hooks..example/services/T1"},
		{"a port that is the scheme's own", "https://tls.example/x/T1", "https://tls.example/x/~"},
		{"a port as it is named", "http://tls.example:0443/x/T1", "http://tls.example:0443/x/~"},
		{"a port that no scheme tells", "//tls.example/x/T1", "//tls.example/x/~"},
		{"another port of the host", "https://high.example/x/T1", "https://high.example/x/T1"},
		{"another scheme's port", "http://tls.example/x/T1", "http://tls.example/x/T1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := testRedactor().URL(row.url)
			if standIn.ReplaceAllString(got, "~") != row.want {
				t.Errorf("%s\nis %s\nwant %s", row.url, got, row.want)
			}
		})
	}
}

func TestRedactE23KnowsEveryWordAndEnding(t *testing.T) {
	r := testRedactor()
	for _, w := range secretWords {
		for _, name := range []string{w, "x_" + w, w + "-x", "a." + strings.ToUpper(w), "x" + strings.ToUpper(w[:1]) + w[1:]} {
			if !r.secret(name) {
				t.Errorf("%q is not secret-looking", name)
			}
		}
	}
	for _, end := range secretEndings {
		if !r.secret("x" + end) {
			t.Errorf("%q is not secret-looking", "x"+end)
		}
	}
}

func TestRedactE23TakesURLsOutOfSentences(t *testing.T) {
	for in, want := range map[string]string{
		`Get "https://u:p@h/?token=abc": dial tcp: refused`: `Get "https://h/?token=~": dial tcp: refused`,
		"redirect to <http://h/?sig=abc> refused":           "redirect to <http://h/?sig=~> refused",
		"no URL here, token=abc":                            "no URL here, token=abc",
		"two: http://a@h/ and\thttp://h/#key=x":             "two: http://h/ and\thttp://h/#key=~",
		"bot/1 (+https://h/bot)":                            "bot/1 (+https://h/bot)",
	} {
		if got := standIn.ReplaceAllString(testRedactor().Text(in), "~"); got != want {
			t.Errorf("%s\nis %s\nwant %s", in, got, want)
		}
	}
}

func TestRedactE24EqualValuesMatchAndOtherKeysDoNot(t *testing.T) {
	r, other := testRedactor(), newRedactor([]byte("another key"), nil, nil)
	a, b, c := r.URL("https://h/?token=abc"), r.URL("https://h/?token=abc"), r.URL("https://h/?token=abd")
	if a != b || a == c || a == other.URL("https://h/?token=abc") {
		t.Errorf("%s, %s, %s, %s", a, b, c, other.URL("https://h/?token=abc"))
	}
	first := lookUp(checkLine(t, encodeLine(t, CrossingOpened{&Crossing{URL: "https://h/?token=abc"}})), "url_digest")
	second := lookUp(checkLine(t, encodeLine(t, CrossingOpened{&Crossing{URL: "https://h/?token=abd"}})), "url_digest")
	if first == nil || first == second {
		t.Errorf("url_digest: %v and %v", first, second)
	}
}

// A value stands for the same digits in a sentence as alone, whatever the sentence
// puts behind the URL.
func TestRedactE24AURLInASentenceIsTheSameURL(t *testing.T) {
	r := testRedactor()
	for _, url := range []string{"https://h/l?token=abc", "https://h/l?token=a,b", "https://h/l?token=abc)", "https://h/l?token=abc,)"} {
		for _, sentence := range []string{"licence 1 (%s, named by Link), entry 2", "licence 1 (%s) governs", "licence 1 (%s): EOF", "asking %s, twice", "Get \"%s\": EOF", "by %s"} {
			if got, want := r.Text(fmt.Sprintf(sentence, url)), fmt.Sprintf(sentence, r.URL(url)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

func TestRecordE23HoldsNoSecretWhereverTheURLStands(t *testing.T) {
	const secret = "s3cr3t"
	url := "https://" + secret + ":" + secret + "@h/a;sig=" + secret + "?access_token=" + secret + "#code=" + secret
	c := typical()
	c.URL, c.Failure, c.Refusal.Detail, c.Refusal.Reason = url, Failure{"x", "asking " + url}, "by "+url, "r"
	c.Gaps = []Gap{{"r", url}}
	c.Terms[0].URL, c.Terms[0].FinalURL, c.Terms[0].Cause = url, url, `Get "`+url+`": EOF`
	probe := TermsProbed{URL: url, FinalURL: url, Redirects: []string{url}, Failure: c.Failure, CutShort: url}
	for _, r := range []Record{CrossingOpened{c}, CrossingEnded{c}, probe, CrossingUndelivered{Failure: c.Failure}} {
		line := encodeLine(t, r)
		checkLine(t, line)
		if strings.Contains(string(line), secret) {
			t.Errorf("%s holds a secret: %s", r.Event(), line)
		}
	}
	payload := checkLine(t, encodeLine(t, CrossingEnded{c}))
	if got := payload["redacted"].([]any); !slices.Equal(got, []any{"userinfo", "sig", "access_token", "code"}) {
		t.Errorf("redacted = %v", got)
	}
}

// FuzzRedact checks on any octets that redacting is done after one time, leaves
// alone what is not suspect, and keeps the value of a secret-looking name out.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"https://u:p@h/a;sig=x?token=y#code=z", "//@/;=?=#=", "?token=%", "a;b;c=1;token=2/d", "http://h/?x;token=a&&=&", "#?&;", "\xff?\xff=\xff", "@//@", "u@//user:pass@h/", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := newRedactor([]byte("key"), nil, nil)
		got := r.URL(raw)
		if again := standIn.ReplaceAllString(r.URL(got), "~"); again != standIn.ReplaceAllString(got, "~") {
			t.Errorf("%q is redacted to %q and that to %q", raw, got, again)
		}
		if !strings.ContainsAny(raw, "?;#@") && got != raw {
			t.Errorf("%q became %q", raw, got)
		}
		const canary = "CANARY0CANARY"
		clean := strings.NewReplacer("&", "", "#", "", canary, "").Replace(raw)
		if got := r.URL("https://h/?" + clean + "&token=" + canary + "&z=1"); strings.Contains(got, canary) {
			t.Errorf("%q is not kept out of %q", canary, got)
		}
	})
}
