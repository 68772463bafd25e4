package robots

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestParseT21ToT28(t *testing.T) {
	for _, tt := range []struct {
		name, robots, token string
		target              string
		refused             bool
	}{
		{"T21 a line ends at CR", "User-agent: *\rDisallow: /x\r", "a", "/x", true},
		{"T21 CRLF is one line end", "User-agent: *\r\nDisallow: /x\r\n", "a", "/x", true},
		{"T21 a byte order mark at the start of a later line is dropped", "User-agent: *\n\xef\xbb\xbfDisallow: /x\n", "a", "/x", true},
		{"T21 a mark cut to two octets is dropped at the start", "\xef\xbbUser-agent: *\nDisallow: /x\n", "a", "/x", true},
		{"T21 a mark cut to one octet is dropped at the start", "\xefUser-agent: *\nDisallow: /x\n", "a", "/x", true},
		{"T21 and costs its line elsewhere", "User-agent: *\n\xefDisallow: /x\n", "a", "/x", false},
		{"T21 VT and FF are white space", "\fUser-agent\v: *\v\nDisallow:\f/x\n", "a", "/x", true},
		{"T21 other white space is not", "User-agent: *\n\u00a0Disallow: /x\n", "a", "/x", false},
		{"T21 a comment begins anywhere", "User-agent: *# all\nDisallow: /x#y\n", "a", "/x", true},
		{"T21 half a unit at the end of UTF-16 is dropped", utf16File("User-agent: *\nDisallow: /x", 1, 0) + "\n", "a", "/x", true},
		{"T21 a line has no limit", "User-agent: *\nDisallow: /" + strings.Repeat("a", 100_000) + "\n", "a", "/" + strings.Repeat("a", 100_000), true},
		{"T22 three words without a colon are no line", "User-agent: *\nDisallow /x y\n", "a", "/x", false},
		{"T22 the key is compared whole", "User-agent: *\nXDisallow: /x\n", "a", "/x", false},
		{"T23 Disallaw is a Disallow", "User-agent: *\nDisallaw: /x\n", "a", "/x", true},
		{"T23 no misspelling of Allow counts", "User-agent: *\nDisallow: /\nAlow: /x\n", "a", "/x", true},
		{"T24 an Allow that is skipped closes the run too", "User-agent: a\nAllow: x\nUser-agent: b\nDisallow: /\n", "a", "/x", false},
		{"T24 an AI training line closes no run", "User-agent: a\nDisallowAITraining: /\nUser-agent: b\nDisallow: /\n", "a", "/x", true},
		{"T24 a name twice in one run is one group", "User-agent: a\nUser-agent: A\nDisallow: /x\n", "a", "/x", true},
		{"T25 a version behind the name is ignored", "User-agent: a/1.0\nDisallow: /x\n", "A", "/x", true},
		{"T25 * and white space is *", "User-agent: * everyone\nDisallow: /x\n", "a", "/x", true},
		{"T25 *b is nobody", "User-agent: *b\nDisallow: /x\n", "b", "/x", false},
		{"T25 a line without a name opens a group of nobody", "User-agent: a\nDisallow: /x\nUser-agent:\nDisallow: /y\n", "a", "/y", false},
		{"T25 a line without a name inside a run takes nothing away", "User-agent: a\nUser-agent: /\nDisallow: /x\n", "a", "/x", true},
		{"T27 a rule before the first group binds nobody", "Disallow: /\nUser-agent: *\nAllow: /x\n", "a", "/y", false},
		{"T32 a Disallow without a slash gets one", "User-agent: *\nDisallow: x\n", "a", "/x", true},
		{"T32 a Disallow of the anchor alone is the root alone", "User-agent: *\nDisallow: $\n", "a", "/x", false},
		{"T32 an Allow without a slash is skipped", "User-agent: *\nDisallow: /\nAllow: x\n", "a", "/x", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := Parse([]byte(tt.robots)).Select([]string{tt.token}, "").Access(NewPage(tt.target))
			if (a.Refused != nil) != tt.refused {
				t.Errorf("%+v, refused %v wanted", a, tt.refused)
			}
		})
	}
}

func TestLinesThatBindT27T28(t *testing.T) {
	for _, tt := range []struct {
		name, robots string
		tokens       []string
		key          Key
		want         []string
	}{
		{"site-wide lines bind a group without its own", "Content-Usage: 1\nUser-agent: a\nDisallow: /x\n", []string{"a"}, ContentUsage, []string{"1"}},
		{"and a token without a group", "Content-Usage: 1\nUser-agent: a\nDisallow: /x\n", []string{"b"}, ContentUsage, []string{"1"}},
		{"a group's own line replaces them", "Content-Usage: 1\nUser-agent: a\nContent-Usage: 2\n", []string{"a"}, ContentUsage, []string{"2"}},
		{"one with another key does not", "Content-Usage: 1\nUser-agent: a\nContent-Signal: 2\n", []string{"a"}, ContentUsage, []string{"1"}},
		{"nor does one without a value", "License: 1\nUser-agent: a\nLicense:\n", []string{"a"}, License, []string{"1"}},
		{"a trailing signal is the last group's and site-wide", "User-agent: a\nAllow: /\nUser-agent: b\nAllow: /\n\nContent-Signal: 1\n", []string{"a", "b"}, ContentSignal, []string{"1"}},
		{"a trailing Content-Usage is the last group's alone", "User-agent: a\nAllow: /\nUser-agent: b\nAllow: /\n\nContent-Usage: 1\n", []string{"a"}, ContentUsage, nil},
		{"a line between blank lines and a later rule is not trailing", "User-agent: a\nAllow: /\nUser-agent: b\nAllow: /\n\nLicense: 1\nAllow: /z\n", []string{"a"}, License, nil},
		{"an empty rule is a rule that ends trailing lines", "User-agent: a\nAllow: /\nUser-agent: b\nAllow: /\n\nLicense: 1\nDisallow:\n", []string{"a"}, License, nil},
		{"the end of a CRLF file is no blank line", "User-agent: a\r\nAllow: /\r\nUser-agent: b\r\nAllow: /\r\nLicense: 1\r\n", []string{"a"}, License, nil},
		{"a line that binds two tokens counts once", "User-agent: a\nUser-agent: b\nLicense: 1\n", []string{"a", "b"}, License, []string{"1"}},
		{"lines of merged groups keep their order", "User-agent: a\nLicense: 1\nAllow: /\nUser-agent: b\nLicense: 2\nAllow: /\nUser-agent: a\nLicense: 3\n", []string{"a"}, License, []string{"1", "3"}},
		{"lines of a group of nobody bind nobody", "User-agent: /\nLicense: 1\n", []string{"a"}, License, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range Parse([]byte(tt.robots)).Select(tt.tokens, "").Lines(tt.key) {
				got = append(got, line.Value)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("lines %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLinesOfTwoKeysReplaceTogetherT27(t *testing.T) {
	f := Parse([]byte("DisallowAITraining: /\nUser-agent: a\nAllowAITraining: /x # why\n"))
	lines := f.Select([]string{"a"}, "").Lines(DisallowAITraining, AllowAITraining)
	want := Line{Key: AllowAITraining, Number: 3, Text: "AllowAITraining: /x # why", Value: "/x"}
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("lines %+v, want %+v", lines, want)
	}
}

func TestDelayT44T45(t *testing.T) {
	f := Parse([]byte("Crawl-delay: 2\nUser-agent: a\nCrawl-delay: 1\nCrawl-delay: 1,5\nAllow: /\nUser-agent: b\nCrawl-delay: 03.0001\nAllow: /\n" +
		"User-agent: d\nUser-agent: e\nCrawl-delay: soon\nAllow: /\nUser-agent: e\nCrawl-delay: 4\nAllow: /\n"))
	for _, tt := range []struct {
		name    string
		tokens  []string
		ms      int64
		written string
		bad     int
	}{
		{"never below the one before any group", []string{"a"}, 2000, "2", 1},
		{"which binds a token without a group too", []string{"c"}, 2000, "2", 0},
		{"rounded up to a millisecond", []string{"b"}, 3001, "03.0001", 0},
		{"the longest of several tokens", []string{"a", "b"}, 3001, "03.0001", 1},
		{"one unreadable value is listed once", []string{"a", "A"}, 2000, "2", 1},
		{"also where names share a group and not all", []string{"d", "e"}, 4000, "4", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := f.Select(tt.tokens, "").Delay()
			if !d.Known || d.Milliseconds != tt.ms || d.Written != tt.written || len(d.Unreadable) != tt.bad {
				t.Errorf("%+v", d)
			}
		})
	}
	var each []string
	for _, d := range f.Select([]string{"x", "a", "A", "b", "d"}, "E/1 F/1").Delays(4) {
		each = append(each, d.Written)
	}
	if want := []string{"2", "2", "2", "03.0001"}; !slices.Equal(want, each) {
		t.Errorf("to each token %q, want %q", each, want)
	}
	if d := (Selection{}).Delay(); d.Known {
		t.Errorf("no file states %+v", d)
	}
}

func TestDelayT44SaturatesAtOneDay(t *testing.T) {
	for _, value := range []string{"86400", "86400.001", "86401", strings.Repeat("9", 5000), "99999." + strings.Repeat("9", 5000)} {
		if ms, ok := parseDelay(value); !ok || ms != maxDelay {
			t.Errorf("%.20s reads as %d, %v", value, ms, ok)
		}
	}
	if ms, ok := parseDelay(strings.Repeat("0", 5000) + "7." + strings.Repeat("0", 5000)); !ok || ms != 7000 {
		t.Errorf("a padded 7 reads as %d, %v", ms, ok)
	}
}

func TestLicencesT56T57(t *testing.T) {
	base, err := url.Parse("https://www.example.com/dir/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, value, want string
	}{
		{"an absolute URL", "http://o.example/l.xml", "http://o.example/l.xml"},
		{"a path", "/l.xml", "https://www.example.com/l.xml"},
		{"a relative path", "l.xml", "https://www.example.com/dir/l.xml"},
		{"another host under the same scheme", "//o.example/l.xml", "https://o.example/l.xml"},
		{"a space is escaped", "/my terms.xml", "https://www.example.com/my%20terms.xml"},
		{"a mail address is no place to ask", "mailto:a@o.example", ""},
		{"a URL without a host", "http:///l.xml", ""},
		{"a port that is none", "http://o.example:70000/l.xml", ""},
		{"a scheme without slashes", "http:l.xml", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Parse([]byte("User-agent: *\nLicense: "+tt.value+"\nLicense: "+tt.value)).Select([]string{"a"}, "")
			if urls := s.Licences(base, 0); !slices.Equal(urls, []string{tt.want}) {
				t.Errorf("licences %q, want %q", urls, tt.want)
			}
		})
	}
	if urls := Parse([]byte("License: /l.xml")).Select([]string{"a"}, "").Licences(nil, 0); !slices.Equal(urls, []string{""}) {
		t.Errorf("without a base: %q", urls)
	}
	s := Parse([]byte("License: ftp:a\nLicense: /l\nLicense: ftp:b\nLicense: ftp:a\nLicense: /l\nLicense: /m")).Select([]string{"a"}, "")
	for most, want := range map[int][]string{3: {"", "https://www.example.com/l", ""}, 4: {"", "https://www.example.com/l", "", "https://www.example.com/m"}} {
		if urls := s.Licences(base, most); !slices.Equal(urls, want) {
			t.Errorf("of a mixture, %d at most: %q", most, urls)
		}
	}
}
