package robots

import (
	"encoding/binary"
	"slices"
	"sync"
)

// MaxBytes is how much of a robots.txt is read (specs: terms T15). The cut is
// made by whoever reads the body: Parse takes what it gets.
const MaxBytes = 524288

// A File is a parsed robots.txt. It never changes. The zero value is a file
// without rules, which is what an origin that has none is ruled by.
type File struct {
	sections map[string]*section // by the name, in lower case, that selects them
	outside  [keyCount][]Line    // before any group, and trailing (T27, T28)

	directives [keyCount][]Directive // every one of the file, by its Index
	site       *section              // the lines of outside, as if a group held them; nil when there are none

	stated   [keyCount]bool // keys of which there is a line, whoever it binds
	licences []Line         // every License line, whoever it binds
}

// A group is a run of User-agent lines and what follows up to the next (T24).
type group struct {
	rules []rule
	lines [keyCount][]Line

	// What follows is made when first asked for: most groups of a file are never
	// selected.
	once    sync.Once
	ordered ruleset

	termsOnce sync.Once
	terms     *terms
}

func (g *group) ruleset() *ruleset {
	g.once.Do(func() { g.ordered = newRuleset([]*group{g}) })
	return &g.ordered
}

// A rule is an Allow or Disallow line whose pattern can match something.
type rule struct {
	pattern Pattern
	allow   bool
	line    int
	text    string
}

// A section is all groups of one name, which are ruled as one (T26). Names that
// stand in the same groups share one. It holds nothing of their lines: a file can
// name thousands in every group, and an agent can call itself by all of them.
type section struct{ groups []*group }

// all returns the groups of s, which may be nil.
func (s *section) all() []*group {
	if s == nil {
		return nil
	}
	return s.groups
}

// Parse reads a robots.txt. No input is an error: a line that cannot be used is
// skipped and never costs another one (T22). Time and memory are in proportion
// to the length of body, which Parse does not keep.
func Parse(body []byte) *File {
	var p parser
	number := 0
	for text := range splitLines(decode(body)) {
		number++
		p.take(text, number)
	}
	return p.file()
}

// A parser is the state between two lines.
type parser struct {
	groups  []*group
	members map[string][]uint32 // indexes of the groups that a name stands in
	closed  bool                // an Allow or Disallow has ended the run of User-agent lines
	outside [keyCount][]Line

	directives [keyCount][]Directive
	stated     [keyCount]bool
	licences   []Line

	// trailing collects lines that T28 counts twice if no rule follows. parted
	// reports that a blank or Sitemap line stands since the last rule.
	trailing []Line
	parted   bool
}

func (p *parser) take(text string, number int) {
	line, blank := parseLine(text, number)
	switch {
	case blank, line.Key == keySitemap:
		p.parted = true
	case line.Key == keyUserAgent:
		p.agent(line)
	case line.Key == keyAllow, line.Key == keyDisallow:
		p.rule(line)
	case line.Key != unknownKey:
		p.statement(line)
	}
}

// agent takes a User-agent line. One without a usable name still opens a group:
// what follows it belongs to nobody (T25).
func (p *parser) agent(line Line) {
	p.parted, p.trailing = false, nil
	if p.closed || len(p.groups) == 0 {
		p.groups = append(p.groups, new(group))
		p.closed = false
	}
	name := groupName(line.Value)
	if name == "" {
		return
	}
	if p.members == nil {
		p.members = make(map[string][]uint32)
	}
	index := uint32(len(p.groups) - 1)
	if in := p.members[name]; len(in) == 0 || in[len(in)-1] != index {
		p.members[name] = append(in, index)
	}
}

// rule takes an Allow or Disallow line (T24, T27, T32).
func (p *parser) rule(line Line) {
	p.parted, p.trailing = false, nil
	p.closed = true
	if len(p.groups) == 0 {
		return
	}
	if r, ok := newRule(line, line.Key == keyAllow); ok {
		g := p.groups[len(p.groups)-1]
		g.rules = append(g.rules, r)
	}
}

// newRule compiles the value of a line that allows or disallows a path (T32). An
// empty one matches nothing, and neither does a permission that is in doubt (T6).
func newRule(line Line, allow bool) (rule, bool) {
	value := line.Value
	if value == "" {
		return rule{}, false
	}
	if value[0] != '/' && value[0] != '*' {
		if allow {
			return rule{}, false
		}
		value = "/" + value
	}
	return rule{Compile(value), allow, line.Number, line.Text}, true
}

// statement takes a line of any other key. An empty Crawl-delay is unreadable and
// is recorded, and an empty AI-training rule stands in for the site-wide ones;
// another line without a value says nothing.
func (p *parser) statement(line Line) {
	switch line.Key {
	case CrawlDelay, DisallowAITraining:
	case AllowAITraining:
		if _, ok := newRule(line, true); !ok && line.Value != "" {
			return
		}
	default:
		if line.Value == "" {
			return
		}
	}
	p.stated[line.Key] = true
	if line.Key == License {
		p.licences = append(p.licences, line)
	}
	if line.Key == ContentUsage || line.Key == ContentSignal {
		if d, ok := newDirective(line, len(p.directives[line.Key])); ok {
			p.directives[line.Key] = append(p.directives[line.Key], d)
		}
	}
	if len(p.groups) == 0 {
		p.outside[line.Key] = append(p.outside[line.Key], line)
		return
	}
	g := p.groups[len(p.groups)-1]
	g.lines[line.Key] = append(g.lines[line.Key], line)
	if p.parted && (line.Key == License || line.Key == ContentSignal) {
		p.trailing = append(p.trailing, line)
	}
}

// file builds the sections from the names met.
func (p *parser) file() *File {
	f := &File{sections: make(map[string]*section, len(p.members)), outside: p.outside, directives: p.directives, stated: p.stated, licences: p.licences}
	for _, line := range p.trailing {
		f.outside[line.Key] = append(f.outside[line.Key], line)
	}
	if slices.ContainsFunc(f.outside[:], func(lines []Line) bool { return len(lines) > 0 }) {
		f.site = &section{groups: []*group{{lines: f.outside}}}
	}
	shared := make(map[string]*section)
	for name, in := range p.members {
		id := make([]byte, 0, 4*len(in))
		for _, index := range in {
			id = binary.BigEndian.AppendUint32(id, index)
		}
		s := shared[string(id)]
		if s == nil {
			s = new(section)
			for _, index := range in {
				s.groups = append(s.groups, p.groups[index])
			}
			shared[string(id)] = s
		}
		f.sections[name] = s
	}
	return f
}

// wildcard is the name of the groups that bind whoever no group names.
const wildcard = "*"

// groupName returns the name in a User-agent line in lower case: its leading run
// of token octets, or * when it stands alone or before white space; otherwise
// nothing (T25).
func groupName(value string) string {
	if value != "" && value[0] == '*' {
		if len(value) == 1 || isSpace(value[1]) {
			return wildcard
		}
		return ""
	}
	return string(appendLower(nil, value[:tokenRun(value)]))
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }

var tokenOctets = octets("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")

// tokenRun is the length of the run of product token octets that s begins with
// (RFC 9309, section 2.2.1; digits are in real names).
func tokenRun(s string) int {
	n := 0
	for n < len(s) && tokenOctets[s[n]] {
		n++
	}
	return n
}
