package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

const testEdge = "20260301T120000Z-0123456789abcdef"

// encodeLine returns r as it would stand in a log, without the line end.
func encodeLine(t testing.TB, r Record) []byte {
	t.Helper()
	e := &entry{enc: encoder{edge: testEdge, redact: newRedactor([]byte("key"), []string{"ticket"}, []string{"hooks.example/services/*"})}}
	if err := e.add(r); err != nil {
		t.Fatal(err)
	}
	line, ended := strings.CutSuffix(`{"seq":1,"timestamp":"2026-03-01T12:00:00.000Z",`+string(e.enc.b), "\n")
	if !ended {
		t.Fatalf("no line end: %q", line)
	}
	return []byte(line)
}

// checkLine fails unless line is one record that any reader takes for the same
// (E6), and returns its payload.
func checkLine(t testing.TB, line []byte) map[string]any {
	t.Helper()
	var l logLine
	if fault := l.read(line); fault != "" {
		t.Fatalf("%s: %q", fault, line)
	}
	if strings.ContainsAny(string(line), "\n\r\u0085\u2028\u2029") {
		t.Fatalf("a reader may see two lines in %q", line)
	}
	var envelope struct{ Payload map[string]any }
	if err := json.Unmarshal(line, &envelope); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	if envelope.Payload["edge"] != testEdge {
		t.Errorf("the payload does not name the edge: %q", line)
	}
	noEmptyValue(t, "payload", envelope.Payload)
	return envelope.Payload
}

// noEmptyValue fails where something unknown is written as a value (E9). A
// number 0 may be measured, so it is the tables' to judge.
func noEmptyValue(t testing.TB, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null", at)
	case string:
		if v == "" {
			t.Errorf("%s is empty", at)
		}
	case []any:
		for i, item := range v {
			noEmptyValue(t, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case map[string]any:
		if len(v) == 0 {
			t.Errorf("%s is an empty object", at)
		}
		for name, item := range v {
			noEmptyValue(t, at+"."+name, item)
		}
	}
}

// members returns the names of payload's members and, after a dot, of the
// objects in it, sorted, without those that every crossing has.
func members(payload map[string]any) (names []string) {
	for name, v := range payload {
		object, ok := v.(map[string]any)
		if !ok {
			names = append(names, name)
			continue
		}
		for _, inner := range members(object) {
			names = append(names, name+"."+inner)
		}
	}
	slices.Sort(names)
	return names
}

func TestCrossingE9E12E14E15E16HasExactlyTheMembersThatApply(t *testing.T) {
	always := []string{"edge", "grade", "class", "client.session", "client.protocol", "client.address", "client.user_agent",
		"method", "url", "purposes", "identity.product_tokens", "policy_digest", "ruleset"}
	ruled := []string{"declarations.terms", "declarations.robots.wayleave.token", "declarations.robots.wayleave.group",
		"declarations.robots.wayleave.wildcard", "declarations.robots.wayleave.rule", "declarations.robots.wayleave.line", "declarations.effective.ai-input"}
	sent := []string{"outcome", "licence.state", "address", "identity.user_agent", "requested_at", "bytes.up", "timings.ruling"}
	answered := []string{"http_status", "http_version", "bytes.down", "timings.first_byte", "content_type"}
	whole := []string{"retrieved_hash", "retrieved_bytes", "content_hash", "content_bytes", "delivered.bytes", "delivered.complete"}

	// before is a crossing that has been ruled and not sent.
	before := func() *Crossing {
		c := typical()
		return &Crossing{Grade: Mediated, Class: rulings.Source, Client: c.Client, Method: "GET", URL: c.URL,
			Purposes: c.Purposes, Identity: Identity{ProductTokens: c.Identity.ProductTokens}, PolicyDigest: c.PolicyDigest, Ruleset: c.Ruleset,
			Ruled: true, Terms: c.Terms, Ruling: c.Ruling}
	}
	started := func() *Crossing {
		c := before()
		c.Address, c.Identity.UserAgent, c.RequestedAt, c.Up = "203.0.113.7:443", "x", time.Unix(0, 0), Counted(0)
		c.Timings.Ruling = time.Nanosecond
		return c
	}
	head := func() *Crossing {
		c := started()
		c.HTTPStatus, c.HTTPVersion, c.Down, c.ContentType = 200, "HTTP/1.1", Counted(0), "text/html"
		c.Timings.FirstByte = time.Millisecond
		return c
	}
	body := func() *Crossing {
		c := head()
		c.Outcome = Delivered
		c.RetrievedHash, c.ContentHash = rulings.Digest{1}, rulings.Digest{1}
		c.Delivered = &Delivery{Complete: Yes}
		return c
	}

	for name, row := range map[string]struct {
		record  Record
		event   string
		members [][]string
	}{
		"opened": {CrossingOpened{before()}, EventCrossingOpened, [][]string{always, ruled}},
		"refused before it was sent": {CrossingEnded{edit(before(), func(c *Crossing) {
			c.Outcome = Refused
			c.Refusal = Refusal{rulings.RobotsDisallow, rulings.WhoseSource, rulings.StageBefore, "why", rulings.TermRef{Object: rulings.Digest{1}, Line: 3}}
			c.Told = Told{Status: 403, Reason: rulings.RobotsDisallow, Detail: rulings.Say("why"), RetryAt: time.Unix(9, 0)}
		})}, EventCrossingRefused, [][]string{always, ruled, {"outcome", "licence.state", "grounded", "refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail",
			"refusal.term.object", "refusal.term.line", "told.status", "told.reason", "told.detail", "told.retry_at"}}},
		"refused without a term to point at": {CrossingEnded{edit(before(), func(c *Crossing) {
			c.Outcome, c.Ruled, c.Terms, c.Ruling = Refused, false, nil, nil
			c.PolicyDigest, c.PolicyUnavailable = rulings.Digest{}, "it does not load"
			c.Refusal = Refusal{Reason: rulings.PolicyUnavailable, Whose: rulings.WhoseOperator, Stage: rulings.StageBefore, Detail: "why"}
		})}, EventCrossingRefused, [][]string{without(always, "policy_digest"), {"policy_unavailable", "outcome", "licence.state", "grounded",
			"refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail"}}},
		"the dial failed": {CrossingEnded{edit(started(), func(c *Crossing) {
			c.Outcome, c.Address = Unavailable, ""
			c.Failure = Failure{"connection_refused", "refused"}
			c.Gaps = []Gap{{DependencyUnavailable, "203.0.113.7: connect"}}
			c.Told = Told{Status: 502, Reason: rulings.ConnectionRefused, Detail: rulings.Say("no")}
		})}, EventCrossingMediated, [][]string{always, ruled, without(sent, "address"), {"failure.kind", "failure.detail", "gaps", "told.status", "told.reason", "told.detail"}}},
		"HEAD, 204 and 304 have no body and no hash": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.HTTPStatus, c.Delivered = Delivered, 304, &Delivery{Complete: Yes}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"delivered.bytes", "delivered.complete"}}},
		"an empty body has the hash of nothing and length 0": {CrossingEnded{body()}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole}},
		"a reused connection has no connect time": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Timings.Body = time.Second
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"timings.body"}}},
		"a new connection has": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Timings.DNS, c.Timings.Connect, c.Timings.TLS = 1, 1, 1
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"timings.dns", "timings.connect", "timings.tls"}}},
		"an unknown coding leaves the content hash out": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.ContentHash, c.ContentCoding = rulings.Digest{}, "zstd2"
			c.Gaps = []Gap{{CapabilityUnavailable, "the coding is not known"}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, without(whole, "content_hash", "content_bytes"), {"content_coding", "gaps"}}},
		"cut by the upstream": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.Opened = Cut, 7
			c.Failure = Failure{"http_response_incomplete", "EOF"}
			c.Delivered = &Delivery{Bytes: 3, Complete: No, Hash: rulings.Digest{1}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"opened", "failure.kind", "failure.detail", "delivered.bytes", "delivered.complete", "delivered.hash"}}},
		"abandoned by the client": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.Opened, c.Delivered = Abandoned, 7, &Delivery{Complete: No}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"opened", "delivered.bytes", "delivered.complete"}}},
		"a close-delimited body cannot show that it is complete": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Delivered.Complete = Unknown
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, without(whole, "delivered.complete")}},
		"the fetcher was refused": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Challenge = 403
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"challenge.status"}}},
		"a service has no identity, purposes, licence or terms": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Class, c.Ruled, c.Terms, c.Ruling = rulings.Service, false, nil, nil
		})}, EventCrossingMediated, [][]string{without(always, "purposes", "identity.product_tokens"),
			without(sent, "licence.state", "identity.user_agent"), answered, whole}},
		"a tunnel that was not read": {CrossingEnded{&Crossing{Grade: Observed, Class: rulings.Service, Outcome: Delivered, Opened: 2, Authority: "git.example:443",
			Client: Client{Session: "s", Protocol: "tunnel", Address: "127.0.0.1:1", UserAgent: "git"}, PolicyDigest: rulings.Digest{1}, Address: "203.0.113.7:443",
			Up: Counted(5), Down: Counted(6), Gaps: []Gap{{CapabilityUnavailable, "not read"}}, Timings: Timings{Connect: 1}}},
			EventCrossingObserved, [][]string{without(always, "method", "url", "purposes", "identity.product_tokens", "ruleset"),
				{"authority", "outcome", "opened", "address", "bytes.up", "bytes.down", "gaps", "timings.connect"}}},
		"turned away before it could be ruled": {CrossingEnded{&Crossing{Grade: Mediated, Outcome: Refused, Client: Client{Address: "127.0.0.1:1"}, Repeated: 40,
			Refusal: Refusal{Reason: rulings.CredentialsRequired, Whose: rulings.WhoseEdge, Stage: rulings.StageBefore, Detail: "none"}}},
			EventCrossingRefused, [][]string{{"edge", "grade", "outcome", "client.address", "grounded", "repeated", "refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail"}}},
		"a term object that could not be kept": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Terms = []rulings.Term{{Kind: rulings.TermRobots, Unwritten: true}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"gaps"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.record.Event(); got != row.event {
				t.Errorf("event %s, want %s", got, row.event)
			}
			want := slices.Sorted(slices.Values(slices.Concat(row.members...)))
			if diff := cmp.Diff(want, members(checkLine(t, encodeLine(t, row.record)))); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func edit(c *Crossing, change func(*Crossing)) *Crossing {
	change(c)
	return c
}

func without(list []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(names, s) })
}

func TestCrossingE8E17WritesValuesInTheirForms(t *testing.T) {
	payload := checkLine(t, encodeLine(t, CrossingEnded{typical()}))
	for path, want := range map[string]any{
		"requested_at":                          "2026-03-01T12:00:00.005Z",
		"http_status":                           200.0,
		"bytes.up":                              0.0,
		"timings.ruling":                        0.012,
		"timings.first_byte":                    41.0,
		"policy_digest":                         "sha256:01" + strings.Repeat("0", 62),
		"declarations.terms.0.kind":             "robots",
		"declarations.terms.0.outcome":          "read",
		"declarations.terms.0.cache":            "reused",
		"declarations.terms.0.status":           200.0,
		"declarations.terms.0.expires_at":       "2026-03-01T13:00:00.005Z",
		"declarations.terms.0.object":           "sha256:02" + strings.Repeat("0", 62),
		"declarations.robots.wayleave.rule":     "Allow: /2026/",
		"declarations.robots.wayleave.line":     12.0,
		"declarations.robots.wayleave.wildcard": true,
		"declarations.effective.ai-input":       "unknown",
		"licence.state":                         "unknown",
		"delivered.complete":                    true,
		"identity.product_tokens.0":             "wayleave",
	} {
		if got := lookUp(payload, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

// lookUp returns what stands at path in v, nil where there is nothing.
func lookUp(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			if fmt.Sscan(name, &i); i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func TestEncoderE10RendersAndCutsWhatOthersChose(t *testing.T) {
	long := strings.Repeat("ä", 3000) // 6,000 octets
	for name, row := range map[string]struct {
		crossing Crossing
		want     map[string]any
	}{
		"octets that are no UTF-8 are rendered, and backslashes with them": {
			Crossing{Failure: Failure{Kind: "k", Detail: "a\xffb\\\xed\xa0\x80"}},
			map[string]any{"failure.detail": `a\xffb\x5c\xed\xa0\x80`, "failure.detail_rendered": true},
		},
		"UTF-8 stays as it is": {
			Crossing{Failure: Failure{Kind: "k", Detail: "grüße\\"}},
			map[string]any{"failure.detail": "grüße\\", "failure.detail_rendered": nil},
		},
		"line breaks of every kind are escaped": {
			Crossing{Failure: Failure{Kind: "k", Detail: "a\n{\"seq\":9}\r\u0085\u2028\u2029"}},
			map[string]any{"failure.detail": "a\n{\"seq\":9}\r\u0085\u2028\u2029"},
		},
		"text is cut at 4,096 octets": {
			Crossing{ContentType: strings.Repeat("x", 5000)},
			map[string]any{"content_type": strings.Repeat("x", 4096), "content_type_cut": 5000.0},
		},
		"a cut tears no character": {
			Crossing{ContentType: "x" + long},
			map[string]any{"content_type": ("x" + long)[:4095], "content_type_cut": 6001.0, "content_type_rendered": nil},
		},
		"a user agent is cut at 512 octets": {
			Crossing{Client: Client{UserAgent: strings.Repeat("x", 513)}},
			map[string]any{"client.user_agent": strings.Repeat("x", 512), "client.user_agent_cut": 513.0},
		},
		"a URL is kept up to 64 KiB": {
			Crossing{URL: "http://h/" + strings.Repeat("x", 65000)},
			map[string]any{"url": "http://h/" + strings.Repeat("x", 65000), "url_cut": nil},
		},
		"and is cut there": {
			Crossing{URL: "http://h/" + strings.Repeat("x", 70000)},
			map[string]any{"url_cut": 70009.0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			row.crossing.Grade = Mediated
			payload := checkLine(t, encodeLine(t, CrossingEnded{&row.crossing}))
			for path, want := range row.want {
				if got := lookUp(payload, path); got != want {
					t.Errorf("%s = %.60q, want %.60q", path, got, want)
				}
			}
		})
	}
}

func TestEncoderE10KeepsTheFirst256ItemsOfAList(t *testing.T) {
	c := typical()
	c.Terms = make([]rulings.Term, 300)
	for i := range c.Terms {
		c.Terms[i].URL = fmt.Sprint("https://h/", i)
	}
	payload := checkLine(t, encodeLine(t, CrossingEnded{c}))
	if got := len(lookUp(payload, "declarations.terms").([]any)); got != 256 {
		t.Errorf("%d terms are listed", got)
	}
	if got := lookUp(payload, "declarations.terms_more"); got != 44.0 {
		t.Errorf("terms_more = %v", got)
	}
	probe := TermsProbed{Kind: rulings.TermRobots, URL: "https://h/robots.txt", Redirects: make([]string, 257)}
	for i := range probe.Redirects {
		probe.Redirects[i] = "https://u:p@h/\xff"
	}
	payload = checkLine(t, encodeLine(t, probe))
	if got := lookUp(payload, "redirects.255"); got != `https://h/\xff` {
		t.Errorf("redirects[255] = %v", got)
	}
	if lookUp(payload, "redirects_more") != 1.0 || lookUp(payload, "redirects_rendered") != true {
		t.Errorf("redirects_more = %v, redirects_rendered = %v", payload["redirects_more"], payload["redirects_rendered"])
	}
}

func TestEncoderE6KeepsARecordUnder1MiB(t *testing.T) {
	c := typical()
	c.Terms = make([]rulings.Term, 300)
	for i := range c.Terms {
		c.Terms[i].URL = "https://h/" + strings.Repeat("\xff", 60000)
	}
	c.URL = c.Terms[0].URL
	line := encodeLine(t, CrossingEnded{c})
	checkLine(t, line)
	if len(line) > 1<<20 {
		t.Errorf("the record has %d octets", len(line))
	}
}

func TestInstantE8HasOneForm(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for in, want := range map[time.Time]string{
		time.Date(2026, 3, 1, 12, 30, 5, 7e6, time.UTC):  "2026-03-01T12:30:05.007Z",
		time.Date(2026, 1, 1, 0, 30, 0, 999999999, zone): "2025-12-31T23:30:00.999Z",
		time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC):     "9999-12-31T23:59:59.999Z",
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC):        "0000-01-01T00:00:00.000Z",
		time.Date(476, 9, 4, 1, 2, 3, 0, time.UTC):       "0476-09-04T01:02:03.000Z",
	} {
		if got := string(appendInstant(nil, in)); got != want {
			t.Errorf("%v is written %s, want %s", in, got, want)
		}
	}
}

func TestMillisE8HaveAtMostThreeDecimals(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "", -1: "", 1: "0.001", 499: "0.001", time.Microsecond: "0.001", 10 * time.Microsecond: "0.01", 100 * time.Microsecond: "0.1",
		time.Millisecond: "1", 1500 * time.Microsecond: "1.5", 1234567 * time.Nanosecond: "1.235", time.Minute: "60000", 1050 * time.Microsecond: "1.05",
	} {
		var e encoder
		e.millis("m", in)
		if got := strings.TrimPrefix(string(e.b), `,"m":`); got != want {
			t.Errorf("%v is written %q, want %q", in, got, want)
		}
	}
}

// FuzzRecordIsOneValidLine puts arbitrary octets into every member that others
// can choose.
func FuzzRecordIsOneValidLine(f *testing.F) {
	seeds := [][2]string{
		{"https://h/%0A{\"seq\":9}?a=b", "curl/8"},
		{"https://u:p@h/\n{\"seq\":9}\r\n", "\x00\x1f\x7f"},
		{"http://h/?token=\xff\xfe&sig=\xed\xa0\x80", "\xed\xa0\x80\xed\xb0\x80"},
		{"\u2028\u2029\u0085", "\"\\/\b\f\t"},
		{strings.Repeat("\xff", 5000), strings.Repeat("ä", 4097)},
		{"x\xff", `x\xff`}, // the same once the first is rendered
		{"", ""},
	}
	for _, s := range seeds {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		c := &Crossing{Grade: Mediated, Class: rulings.Source, URL: a, Method: b, Authority: a, Address: b, HTTPVersion: a,
			Client: Client{Session: b, Address: a, UserAgent: b, Protocol: a}, Identity: Identity{ProductTokens: []string{a, b}, UserAgent: a},
			Purposes: []string{a, b, a}, PolicyUnavailable: b, Failure: Failure{a, b}, Gaps: []Gap{{a, b}},
			Refusal: Refusal{Reason: "r", Detail: a}, ContentType: b, ContentCoding: a, ContentRange: b,
			Ruled: true, Terms: []rulings.Term{{URL: a, FinalURL: b, Cause: a}},
			Ruling: &rulings.Ruling{Robots: []robots.Decision{{Token: a, Group: b, Rule: a}, {Token: b, Group: a, Rule: b}, {Token: a}}},
		}
		for _, r := range []Record{CrossingOpened{c}, CrossingEnded{c}, CrossingUndelivered{Failure: c.Failure},
			TermsProbed{URL: a, FinalURL: b, Redirects: []string{a, b}, CutShort: a, Failure: c.Failure}} {
			line := encodeLine(t, r)
			var l logLine
			if fault := l.read(line); fault != "" {
				t.Fatalf("%s: %q", fault, line)
			}
			if !utf8.Valid(line) || strings.ContainsAny(string(line), "\n\r\u0085\u2028\u2029") {
				t.Fatalf("not one line: %q", line)
			}
		}
	})
}
