package robots

import (
	"testing"
	"unicode/utf16"
)

// utf16File encodes text with a byte order mark.
func utf16File(text string, high, low int) string {
	out := make([]byte, 2)
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		pair := make([]byte, 2)
		pair[high], pair[low] = byte(unit>>8), byte(unit)
		out = append(out, pair...)
	}
	return string(out[2:])
}

// TestCasesOfFaultsMetInTheWild holds what other readers got wrong on real
// files. The numbers are those of the project's list of cases.
func TestCasesOfFaultsMetInTheWild(t *testing.T) {
	const managed = "# BEGIN managed\nUser-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n\nUser-agent: OtherBot\nDisallow: /\n# END managed\n\nUser-agent: *\nDisallow: /private/\n"
	for _, tt := range []struct {
		name, robots     string
		refused, allowed []string
	}{
		{"R02 a file in UTF-16LE is decoded (T21)", utf16File("User-agent: *\nDisallow: /\n", 1, 0), []string{"/", "/x"}, nil},
		{"R02 a file in UTF-16BE is decoded (T21)", utf16File("User-agent: *\nDisallow: /\n", 0, 1), []string{"/", "/x"}, nil},
		{"R04 an HTML page instead of the file states nothing (T15)", "<!DOCTYPE html>\n<html><head><title>Not found: /page</title></head>\n<body>Disallow: nothing</body></html>", nil, []string{"/page"}},
		{"R14 delays that are no numbers cost no rule (T22)", "User-agent: *\nCrawl-delay: inf\nCrawl-delay: NaN\nCrawl-delay: 1e300\nDisallow: /x\n", []string{"/x"}, []string{"/y"}},
		{"R16 a delay before any group costs no rule (T27)", "Crawl-delay: 1\nSitemap: https://o.test/s.xml\n\nUser-agent: *\nDisallow: /x/\n", []string{"/x/1"}, []string{"/y"}},
		{"R18 stacked agents, * first (T24)", "User-agent: *\nUser-agent: OtherBot\nDisallow: /private\n", []string{"/private"}, []string{"/"}},
		{"R18 stacked agents, * last (T24)", "User-agent: OtherBot\nUser-agent: *\nDisallow: /private\n", []string{"/private"}, []string{"/"}},
		{"R20 an escaped star is literal (T31)", "User-agent: *\nDisallow: /f-%2A.html\n", []string{"/f-*.html"}, []string{"/f-x.html"}},
		{"R20 an escaped dollar is literal (T31)", "User-agent: *\nDisallow: /g-%24\n", []string{"/g-$"}, []string{"/g-"}},
		{"R20 an escaped slash in a rule is never decoded (T35)", "User-agent: *\nDisallow: /*%2F*\n", []string{"/a%2Fb"}, []string{"/a/b"}},
		{"R21 an unreserved octet has one form (T31)", "User-agent: *\nDisallow: /%7Ejoe/\n", []string{"/~joe/1", "/%7ejoe/1"}, []string{"/joe/1"}},
		{"R21 UTF-8 raw and escaped has one form (T31)", "User-agent: *\nDisallow: /caf%C3%A9/\n", []string{"/caf%c3%a9/1", "/café/1"}, []string{"/cafe/1"}},
		{"R24 an empty Disallow does not end the group (T24)", "User-agent: *\nDisallow:\nDisallow: /wp-admin\n", []string{"/wp-admin"}, []string{"/"}},
		{"R27 Disallow: // is not Disallow: / (T35)", "User-agent: *\nDisallow: //\n", []string{"//news"}, []string{"/news", "/"}},
		{"R28 a question mark ends no rule (T31)", "User-agent: *\nDisallow: /jobs/\nDisallow: /jobs?\n", []string{"/jobs?x=1", "/jobs/1"}, []string{"/jobs"}},
		{"R30 a managed block and the site's own groups merge (T26)", managed, []string{"/private/x"}, []string{"/a"}},
		{"R31 unknown labels inside a group cost nothing (T24)", "User-agent: *\nContent-Signal: search=yes,ai-train=no\nHost: o.test\nClean-param: s\nDisallow: /x\n", []string{"/x"}, []string{"/y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Parse([]byte(tt.robots)).Select([]string{"AgentX"}, "")
			for _, target := range tt.refused {
				if s.Access(NewPage(target)).Refused == nil {
					t.Errorf("%s is allowed", target)
				}
			}
			for _, target := range tt.allowed {
				if d := s.Access(NewPage(target)).Refused; d != nil {
					t.Errorf("%s is refused by line %d", target, d.Line)
				}
			}
		})
	}
}

func TestCaseR30TheManagedBlockRefusesTheOtherBotEverywhere(t *testing.T) {
	f := Parse([]byte("User-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n\nUser-agent: OtherBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n"))
	if f.Select([]string{"OtherBot"}, "").Access(NewPage("/a")).Refused == nil {
		t.Error("OtherBot may fetch /a")
	}
	lines := f.Select([]string{"AgentX"}, "").Lines(ContentSignal)
	if len(lines) != 1 || lines[0].Value != "search=yes,ai-train=no" || lines[0].Number != 2 {
		t.Errorf("signals of AgentX: %+v", lines)
	}
}

func TestCasesOfCrawlDelayMetInTheWildT44T45(t *testing.T) {
	for _, tt := range []struct {
		name, robots string
		known        bool
		ms           int64
		unreadable   int
	}{
		{"R14 numbers of other notations are unreadable", "User-agent: *\nCrawl-delay: inf\nCrawl-delay: NaN\nCrawl-delay: 1e300\n", false, 0, 3},
		{"R14 an absurd number reads as one day", "User-agent: *\nCrawl-delay: 999999999999\n", true, 86_400_000, 0},
		{"R14 one day reads as one day", "User-agent: *\nCrawl-delay: 86400\n", true, 86_400_000, 0},
		{"R15 a fraction is kept", "User-agent: *\nCrawl-delay: 0.5\n", true, 500, 0},
		{"R16 a delay before any group binds the host", "Crawl-delay: 1\nSitemap: https://o.test/s.xml\n\nUser-agent: *\nDisallow: /x/\n", true, 1000, 0},
		{"R17 another agent's delay is not ours", "User-agent: *\nDisallow: /print\n\nUser-agent: OtherBot\nCrawl-delay: 10\n", false, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Parse([]byte(tt.robots)).Select([]string{"AgentX"}, "").Delay()
			if d.Known != tt.known || d.Milliseconds != tt.ms || len(d.Unreadable) != tt.unreadable {
				t.Errorf("delay is %+v", d)
			}
		})
	}
}
