package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const goodLine = `{"seq":1,"timestamp":"2026-03-04T05:06:07.089Z","event":"edge_started","payload":{"edge":"e"}}`

func nested(depth int) string {
	// The envelope and its payload are two levels.
	return strings.Replace(goodLine, `"e"`, strings.Repeat("[", depth-2)+strings.Repeat("]", depth-2), 1)
}

// manyNames is goodLine with n members in its payload, and last at their end.
func manyNames(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return strings.Replace(goodLine, `"edge":"e"`, b.String()+last, 1)
}

func TestLogLineE6E42(t *testing.T) {
	tests := []struct {
		name, line string
		want       lineFault
	}{
		{"a record", goodLine, ""},
		{"members in another order, and one that is not known", `{"payload":{},"more":[null,true,-1.5e+3],"event":"x","timestamp":"2026-03-04T05:06:07.089Z","seq":18446744073709551615}`, ""},
		{"white space between tokens", `{ "seq" : 1 , "timestamp":"2026-03-04T05:06:07.089Z","event":"x","payload":{ } }`, ""},
		{"a whole surrogate pair", strings.Replace(goodLine, `"e"`, `"\ud83d\ude00"`, 1), ""},
		{"64 levels", nested(64), ""},
		{"1 MiB", strings.Replace(goodLine, `"e"`, `"`+strings.Repeat("x", maxLineBytes-len(goodLine)+1)+`"`, 1), ""},
		{"escapes of every kind", strings.Replace(goodLine, `"e"`, `"\"\\\/\b\f\n\r\t\u00e9\\"`, 1), ""},
		{"a tab between tokens", strings.Replace(goodLine, `,`, ",\t", 1), ""},
		{"many members", manyNames(1000, `"edge":1`), ""},

		{"nothing", "", faultEmpty},
		{"one octet over 1 MiB", strings.Replace(goodLine, `"e"`, `"`+strings.Repeat("x", maxLineBytes-len(goodLine)+2)+`"`, 1), faultTooLong},
		{"a byte order mark", "\ufeff" + goodLine, faultBOM},
		{"CRLF", goodLine + "\r", faultCR},
		{"a carriage return for white space", strings.Replace(goodLine, ",", ",\r", 1), faultJSON},
		{"invalid UTF-8", strings.Replace(goodLine, `"e"`, "\"\xff\"", 1), faultUTF8},
		{"a surrogate written as octets", strings.Replace(goodLine, `"e"`, "\"\xed\xa0\x80\"", 1), faultUTF8},
		{"a high surrogate alone", strings.Replace(goodLine, `"e"`, `"\ud800"`, 1), faultSurrogate},
		{"a low surrogate alone", strings.Replace(goodLine, `"e"`, `"\udc00"`, 1), faultSurrogate},
		{"two high surrogates", strings.Replace(goodLine, `"e"`, `"\ud800\ud800"`, 1), faultSurrogate},
		{"a member of the envelope named twice", strings.Replace(goodLine, `"seq":1`, `"seq":1,"seq":2`, 1), faultDuplicate},
		{"a member of the payload named twice", strings.Replace(goodLine, `"edge":"e"`, `"edge":"e","edge":"f"`, 1), faultDuplicate},
		{"a member named twice further down", strings.Replace(goodLine, `"e"`, `[{"a":{"b":1,"b":1}}]`, 1), faultDuplicate},
		{"a member named twice in two spellings", strings.Replace(goodLine, `"edge":"e"`, `"edge":"e","\u0065dge":"f"`, 1), faultDuplicate},
		{"a member named twice among many", manyNames(1000, `"m3":1`), faultDuplicate},
		{"65 levels", nested(65), faultNesting},
		{"NUL octets a crash left", "\x00\x00\x00\x00", faultJSON},
		{"NUL octets behind a record", goodLine + "\x00", faultJSON},
		{"a space in front", " " + goodLine, faultJSON},
		{"two records on one line", goodLine + goodLine, faultJSON},
		{"a record cut short", goodLine[:len(goodLine)-3], faultJSON},
		{"a comma too many", strings.Replace(goodLine, `"e"}`, `"e",}`, 1), faultJSON},
		{"a number with a leading zero", strings.Replace(goodLine, `"e"`, "01", 1), faultJSON},
		{"a number without digits after the point", strings.Replace(goodLine, `"e"`, "1.", 1), faultJSON},
		{"a number without digits in the exponent", strings.Replace(goodLine, `"e"`, "1e+", 1), faultJSON},
		{"a word that is none", strings.Replace(goodLine, `"e"`, "nul", 1), faultJSON},
		{"a tab in a string", strings.Replace(goodLine, `"e"`, "\"\t\"", 1), faultJSON},
		{"a control character behind an escape", strings.Replace(goodLine, `"e"`, "\"0123456789\\n0123456\x01\"", 1), faultJSON},
		{"an escape that is none", strings.Replace(goodLine, `"e"`, `"\x41"`, 1), faultJSON},
		{"an escape with a sign for a digit", strings.Replace(goodLine, `"e"`, `"\u+041"`, 1), faultJSON},
		{"a string that does not end", `{"seq":1,"x":"}`, faultJSON},
		{"another JSON value", `[1]`, faultJSON},
		{"an object that is no envelope", `{}`, faultEnvelope},
		{"an envelope without a payload", `{"seq":1,"timestamp":"2026-03-04T05:06:07.089Z","event":"x"}`, faultEnvelope},
		{"a payload that is no object", strings.Replace(goodLine, `{"edge":"e"}`, `[]`, 1), faultEnvelope},
		{"an event without a name", strings.Replace(goodLine, "edge_started", "", 1), faultEnvelope},
		{"seq 0", strings.Replace(goodLine, `"seq":1`, `"seq":0`, 1), faultEnvelope},
		{"a seq with a sign", strings.Replace(goodLine, `"seq":1`, `"seq":-1`, 1), faultEnvelope},
		{"a seq with a fraction", strings.Replace(goodLine, `"seq":1`, `"seq":1.0`, 1), faultEnvelope},
		{"a seq past 64 bits", strings.Replace(goodLine, `"seq":1`, `"seq":18446744073709551616`, 1), faultEnvelope},
		{"a timestamp without milliseconds", strings.Replace(goodLine, ".089", "", 1), faultEnvelope},
		{"a timestamp with an offset", strings.Replace(goodLine, "089Z", "089+00:00", 1), faultEnvelope},
		{"a timestamp that is no date", strings.Replace(goodLine, "03-04", "02-31", 1), faultEnvelope},
		{"a timestamp that is no time of day", strings.Replace(goodLine, "05:06:07", "24:06:07", 1), faultEnvelope},
	}
	var l logLine // one for all, as readers use it
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := l.read([]byte(tt.line)); got != tt.want {
				t.Errorf("fault %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLogLineE6KeepsWhatItRead(t *testing.T) {
	var l logLine
	line := `{"seq":12,"payload":{"url":"a\u0022b","opened":7,"gaps":[{"reason":"x"}],"deep":{"url":"no"}},"timestamp":"1969-12-31T23:59:59.999Z","event":"crossing_mediated","url":"no"}`
	if fault := l.read([]byte(line)); fault != "" {
		t.Fatal(fault)
	}
	if l.seq != 12 || l.at != -1 || l.event != EventCrossingMediated {
		t.Errorf("read seq %d, instant %d, event %q", l.seq, l.at, l.event)
	}
	if got := l.text("url"); got != `a"b` {
		t.Errorf("url is %q", got)
	}
	if l.number("opened") != 7 || !l.listed("gaps") || l.listed("breach") || l.text("gaps") != "" {
		t.Error("members of the payload were not told apart")
	}
	if got := formatInstant(l.at); got != "1969-12-31T23:59:59.999Z" {
		t.Errorf("the instant is written as %q", got)
	}
}

// FuzzLogLine holds the reader against encoding/json: it takes nothing that is
// no JSON, and turns nothing away but for the reasons it gives.
func FuzzLogLineE42(f *testing.F) {
	seeds := []string{goodLine, nested(65), manyNames(70, `"m1":0`), `{"seq":1}`, "\x00", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":[1,2,{"b":-0.5e3}],"a":true}`}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var l logLine
		fault := l.read(line)
		valid := json.Valid(line)
		if fault == "" && !valid {
			t.Fatalf("took %q, which is no JSON", line)
		}
		if fault == faultJSON && valid && line[0] == '{' && line[len(line)-1] == '}' && !strings.ContainsAny(string(line), "\r\n") {
			t.Fatalf("did not take %q, which is JSON", line)
		}
		if fault == "" {
			again := new(logLine)
			if again.read(l.check.b) != "" || again.seq != l.seq || again.at != l.at {
				t.Fatalf("read %q twice and differently", line)
			}
		}
	})
}
