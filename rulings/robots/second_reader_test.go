package robots

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	second "github.com/temoto/robotstxt"
)

// TestSecondReaderFails holds why temoto/robotstxt carries no ruling. When one
// of these begins to fail, docs/decisions/0002-second-reader.md is out of date.
func TestSecondReaderFails(t *testing.T) {
	for _, tt := range []struct {
		name, robots, target string
		second, ours         bool // allowed
	}{
		{"of two rules of one length the first wins, not the Allow (T42)",
			"User-agent: *\nDisallow: /page\nAllow: /page\n", "/page", false, true},
		{"a pattern with a wildcard matches anywhere in the path (T33)",
			"User-agent: *\nDisallow: /b*c\n", "/a/bc", false, true},
		{"escapes of one octet are two paths (T31)",
			"User-agent: *\nDisallow: /~joe/\n", "/%7Ejoe/", true, false},
		{"and so are the raw and the escaped letter (T31)",
			"User-agent: *\nDisallow: /caf%C3%A9/\n", "/café/", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := second.FromString(tt.robots)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.TestAgent(tt.target, "ours"); got != tt.second {
				t.Errorf("the second reader allows %s: %v, want %v", tt.target, got, tt.second)
			}
			if got := allows(tt.robots, tt.target); got != tt.ours {
				t.Errorf("we allow %s: %v, want %v", tt.target, got, tt.ours)
			}
		})
	}
}

func allows(robots, target string) bool {
	return Parse([]byte(robots)).Select([]string{"ours"}, "").Access(NewPage(target)).Refused == nil
}

func TestSecondReaderLosesTheFileToOneBadCrawlDelayT22(t *testing.T) {
	const file = "User-agent: *\nCrawl-delay: 1,5\nDisallow: /private/\n"
	if _, err := second.FromString(file); err == nil {
		t.Error("the second reader reads the file")
	}
	if allows(file, "/private/x") {
		t.Error("we lose the Disallow")
	}
}

func TestSecondReaderTakes429ForPermissionT15(t *testing.T) {
	r, err := second.FromStatusAndString(http.StatusTooManyRequests, "slow down")
	if err != nil || !r.TestAgent("/", "ours") {
		t.Errorf("the second reader: %v, %v", r, err)
	}
}

// A grammar turns octets into files and targets on which both readers are defined
// and RFC 9309 has one answer. It leaves out what the tests above show, and what
// the second reader does by design: prefixes of names, empty rules, Crawl-delay
// among User-agent lines, the length of a wildcard pattern.
type grammar struct {
	data []byte
	rule map[string]map[int]bool // lengths used by the rules of a name: no ties
}

// next returns a number below n, taken from the input, 0 when that is used up.
func (g *grammar) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	c := g.data[0]
	g.data = g.data[1:]
	return int(c) % n
}

func (g *grammar) pick(from ...string) string { return from[g.next(len(from))] }

// path returns a path with one reading, of octets whose form is themselves.
func (g *grammar) path() string {
	var b strings.Builder
	for range g.next(4) {
		b.WriteString("/" + g.pick("a", "b", "ab", "a-b", "b.html", "aa", "c_", "~b"))
	}
	return b.String() + g.pick("/", "/a", "/b.html")
}

func (g *grammar) target() string { return g.path() + g.pick("", "", "?", "?a=b", "?q=/a") }

// comment returns a way to end a line.
func (g *grammar) comment() string { return g.pick("", "", " ", "\t", " # /a", " #") }

// group writes one group, and a line that belongs to no group now and then.
func (g *grammar) group(b *strings.Builder, end string) {
	names := []string{g.pick("*", "ours", "theirs", "other-bot")}
	if g.next(4) == 0 {
		names = append(names, g.pick("*", "ours", "theirs", "other-bot"))
	}
	for _, name := range names {
		fmt.Fprint(b, g.pick("User-agent: ", "user-agent:", "USER-AGENT:  ", "Useragent: "), name, g.comment(), end)
	}
	written := false
	for range 1 + g.next(5) {
		written = g.writeRule(b, names, end) || written
	}
	if !written {
		// The second reader does not know a group without a rule.
		fmt.Fprint(b, "Disallow: /never-asked-for", end)
	}
	fmt.Fprint(b, g.pick("", end, "# a comment"+end, "Sitemap: https://o.example/s.xml"+end, "Host: o.example"+end, "Unknown: value"+end))
}

// writeRule writes a rule unless it would tie with one its names already have.
func (g *grammar) writeRule(b *strings.Builder, names []string, end string) bool {
	path := g.path()
	for _, name := range names {
		if g.rule[name] == nil {
			g.rule[name] = make(map[int]bool)
		}
		if g.rule[name][len(path)] {
			return false
		}
	}
	for _, name := range names {
		g.rule[name][len(path)] = true
	}
	fmt.Fprint(b, g.pick("Disallow: ", "disallow:", "Allow: ", "ALLOW:\t"), path, g.comment(), end)
	return true
}

func (g *grammar) file() string {
	g.rule = make(map[string]map[int]bool)
	end := g.pick("\n", "\r\n", "\r", "\n\n")
	var b strings.Builder
	b.WriteString(g.pick("", "\xef\xbb\xbf", end, "# first"+end, "Sitemap: /s"+end))
	for range 1 + g.next(5) {
		g.group(&b, end)
	}
	return b.String()
}

// wildcardFile returns a file with one rule that begins with a wildcard, which is
// all the second reader means by one too.
func (g *grammar) wildcardFile() string {
	return "User-agent: " + g.pick("*", "ours") + "\n" + g.pick("Disallow: ", "Allow: ") + "*" + g.path() +
		g.pick("", "$", "*a", "*b.html$") + "\nCrawl-delay: " + g.pick("1", "20", "0.5") + "\n"
}

// FuzzAgainstSecondReader compares the two readers where both are defined.
func FuzzAgainstSecondReader(f *testing.F) {
	seeds := []string{
		"", "\x00\x01\x02\x03\x04\x05\x06\x07", "\x01\x03\x02\x01\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d",
		"wayleave reads a file and another reader reads it too", strings.Repeat("\x03\x01\x04\x01\x05\x09\x02\x06\x05", 12),
		strings.Repeat("\xff\x10\x9c\x41\x07", 20), "\x09one wildcard", "\x09\x01\x01\x03\x02\x01\x02\x01\x03",
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		g := &grammar{data: data}
		file := ""
		if g.next(4) == 1 {
			file = g.wildcardFile()
		} else {
			file = g.file()
		}
		theirs, err := second.FromString(file)
		if err != nil {
			t.Fatalf("%q: %v", file, err)
		}
		ours := Parse([]byte(file))
		for range 8 {
			target := g.target()
			for _, token := range []string{"ours", "theirs", "nobody"} {
				got := ours.Select([]string{token}, "").Access(NewPage(target)).Refused == nil
				if want := theirs.TestAgent(target, token); got != want {
					t.Fatalf("%s for %s by\n%s\nwe allow: %v, the second reader: %v", target, token, file, got, want)
				}
			}
		}
		delay := ours.Select([]string{"ours"}, "").Delay()
		if want := theirs.FindGroup("ours").CrawlDelay; time.Duration(delay.Milliseconds)*time.Millisecond != want {
			t.Fatalf("delay %+v, the second reader: %v, by\n%s", delay, want, file)
		}
	})
}
