package backoff_test

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/backoff"
)

// full is a state with every part, as it is stored.
const full = `{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z",` +
	`"turn":{"reserved":"2026-11-30T12:00:05.000Z","answered":"2026-11-30T12:00:01.001Z","handed":"2026-11-30T12:00:00.204Z"},` +
	`"backoff":{"failures":2,"status":503,"until":"2026-11-30T12:01:00.000Z","retry_after":true,"capped":false,"date":true,"by":"a\"b"},` +
	`"reservation":{"id":"7f","deadline":"2026-11-30T12:01:30.000Z","by":"c"}}` + "\n"

// plain is a state with every part and without escapes, as most are.
var plain = strings.Replace(full, `a\"b`, "ab", 1)

// newer has members of a newer version, in the order in which they are kept.
const newer = `{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","turn":{"reserved":"2026-11-30T12:00:00.000Z","x":1},` +
	`"backoff":{"failures":0,"status":500,"until":"2026-11-30T12:00:00.000Z","retry_after":false,"capped":false,"date":false,"x":[1,{"y":"z"}]},` +
	`"reservation":{"id":"7f","deadline":"2026-11-30T12:00:00.000Z","x":"é"},"a":null,"b":{}}` + "\n"

// spaced is a state of a newer version alone.
const spaced = "{\n \"host\": \"host.test\", \"set_at\": \"2026-11-30T13:00:00.0001+01:00\", \"turn\": null, \"x\": [ 1 ] }"

// parts are states that lack one thing or another.
var parts = []string{
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","turn":{"reserved":"2026-11-30T12:00:05.000Z"}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","turn":{"answered":"2026-11-30T12:00:05.000Z"}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","backoff":{"failures":0,"status":429,"until":"2026-11-30T12:01:00.000Z","retry_after":false,"capped":true,"date":false}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","reservation":{"id":"7f","deadline":"2026-11-30T12:01:30.000Z"}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","backoff":{"failures":2147483647,"status":599,"until":"2026-11-30T12:01:00.000Z","retry_after":true,"capped":false,"date":true,"by":"a"}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","turn":{"handed":"2026-11-30T12:00:05.000Z"}}` + "\n",
	`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","turn":{"reserved":"2026-11-30T12:00:09.000Z","handed":"2026-11-30T12:00:05.000Z"}}` + "\n",
}

var stateSeeds = append(parts, full, newer, spaced, plain, `{"host":"host.test","set_at":"2026-11-30T12:00:00Z"}`, `{}`, "", "null", `{"host":1}`, "{\"host\":\"host.test\",\"turn\":{\"x\":{}}}")

func TestP35_StatesAreReadAsTheyAreWritten(t *testing.T) {
	for name, text := range map[string]string{
		"every part": full, "members of a newer version": newer, "no escapes": plain,
		"a turn that was not answered": parts[0], "an answer alone": parts[1], "a back-off": parts[2], "a reservation": parts[3], "the highest count": parts[4], "a late request alone": parts[5], "a late request and a turn": parts[6],
	} {
		t.Run(name, func(t *testing.T) {
			s, err := backoff.Decode([]byte(text), host)
			must(t, err)
			if got := string(backoff.Encode(s)); got != text {
				t.Errorf("read and written:\n%s\nwant\n%s", got, text)
			}
		})
	}
}

func TestP35_WhatIsWrittenOtherwiseIsReadAlike(t *testing.T) {
	s, err := backoff.Decode([]byte(spaced), host)
	must(t, err)
	if got, want := string(backoff.Encode(s)), `{"host":"host.test","set_at":"2026-11-30T12:00:00.001Z","x":[1]}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.Empty() {
		t.Error("a state of a newer version is empty, and would be removed")
	}
}

func TestP38_UnreadableStates(t *testing.T) {
	replaced := func(old, new string) string {
		if !strings.Contains(full, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(full, old, new, 1)
	}
	for name, text := range map[string]string{
		"nothing":                         "",
		"no JSON":                         "host",
		"JSON cut short":                  full[:len(full)-3],
		"two objects":                     full + full,
		"no object":                       "[]",
		"null":                            "null",
		"another host":                    replaced(`"host.test"`, `"other.test"`),
		"no host":                         replaced(`"host":"host.test",`, ""),
		"the host in capitals":            replaced(`"host.test"`, `"HOST.test"`),
		"a host that is a number":         replaced(`"host.test"`, `7`),
		"no set_at":                       replaced(`"set_at":"2026-11-30T12:00:00.000Z",`, ""),
		"an instant without zone":         replaced("12:00:05.000Z", "12:00:05"),
		"an instant that is a number":     replaced(`"2026-11-30T12:00:05.000Z"`, "5"),
		"an instant before 1970":          replaced("2026-11-30T12:00:05", "1969-11-30T12:00:05"),
		"an instant after 2260":           replaced("2026-11-30T12:00:05", "2261-11-30T12:00:05"),
		"a turn that is a list":           replaced(`"turn":{`, `"turn":[],"x":{`),
		"failures below 0":                replaced(`"failures":2`, `"failures":-1`),
		"failures beyond counting":        replaced(`"failures":2`, `"failures":3000000000`),
		"failures with a fraction":        replaced(`"failures":2`, `"failures":2.5`),
		"failures as text":                replaced(`"failures":2`, `"failures":"2"`),
		"a status that is no failure":     replaced(`"status":503`, `"status":200`),
		"no status":                       replaced(`"status":503,`, ``),
		"no end of the wait":              replaced(`"until":"2026-11-30T12:01:00.000Z",`, ``),
		"a flag that is a number":         replaced(`"capped":false`, `"capped":0`),
		"a reservation without id":        replaced(`"id":"7f",`, ``),
		"a reservation with an empty one": replaced(`"id":"7f"`, `"id":""`),
		"a reservation without deadline":  replaced(`"deadline":"2026-11-30T12:01:30.000Z",`, ``),
		"more than 64 KiB":                full + strings.Repeat(" ", 64<<10),
		"nested too deep":                 replaced(`"host"`, `"x":`+strings.Repeat("[", 20_000)+`,"host"`),
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := backoff.Decode([]byte(text), host); err == nil || !s.Empty() || s.Host != "" {
				t.Errorf("read as %+v, %v", s, err)
			}
		})
	}
}

func TestP34_FileName(t *testing.T) {
	long := strings.Repeat("a", 98)
	for _, tt := range []struct{ name, key, want string }{
		{"100 octets are readable", long + "bc", long + "bc"},
		{"101 are not", long + "bcd", long[:40] + "-0f79b4e5"},
		{"nor are 101 with escapes", strings.Repeat(":", 34), strings.Repeat("%3A", 13) + "%-"},
		{"every octet outside the set", "A/b\x00é", "%41%2Fb%00%C3%A9"},
		{"no name leaves the directory", "..", ".."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := backoff.FileName(tt.key)
			if len(got) == 105 { // the digest is the vectors' to check
				got, tt.want = got[:41], tt.want[:41]
			}
			if got != tt.want {
				t.Errorf("FileName(%q) = %q, want %q", tt.key, got, tt.want)
			}
		})
	}
}
