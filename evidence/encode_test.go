package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	c.Ruling = &rulings.Ruling{Licences: []rulings.LicenceRuling{{Entry: 1, Restricted: make([]int, 300)}}}
	for i := range c.Ruling.Licences[0].Restricted {
		c.Ruling.Licences[0].Restricted[i] = i + 1
	}
	payload := checkLine(t, encodeLine(t, CrossingEnded{c}))
	if got := lookUp(payload, "declarations.licences.0.restricted.255"); got != 256.0 || lookUp(payload, "declarations.licences.0.restricted_more") != 44.0 {
		t.Errorf("restricted.255 = %v (T88)", got)
	}
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
			Purposes: []rulings.Purpose{rulings.Purpose(a), rulings.Purpose(b), rulings.Purpose(a)}, PolicyUnavailable: b, Failure: Failure{a, b}, Gaps: []Gap{{a, b}},
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
