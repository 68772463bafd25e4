package robots

// maxWork bounds the octets compared for one document and one page, counted as
// both lengths for every reading and pattern (specs: terms T40).
const maxWork = 512_000_000

// An Access is what a file says of fetching one page. The zero value says
// nothing, which allows.
type Access struct {
	Decisions []Decision // one for each token, in the order of Select
	Refused   *Decision  // the first that refuses, in Decisions
	OverLimit bool       // the page cannot be ruled, and is refused (T37, T40)
}

// A Decision is what the groups of one token say (T30).
type Decision struct {
	Token    string
	Group    string // in lower case; "*"; empty when no group binds the token
	Wildcard bool   // Group is "*"
	Rule     string // the deciding line as written; empty when none matched
	Line     int    // its number, from 1
	Allowed  bool
}

// Access rules p (T42): on each reading the longest matching rule decides, an
// Allow before a Disallow of the same length, and a Disallow on any reading of
// any token refuses. The documents in which terms are stated are not ruled (T11).
func (s Selection) Access(p *Page) Access {
	if p.document {
		return Access{}
	}
	a := Access{Decisions: make([]Decision, len(s.choices)), OverLimit: s.unruled(p)}
	for i, c := range s.choices {
		d := &a.Decisions[i]
		*d = Decision{Token: c.token, Group: c.group, Wildcard: c.group == wildcard}
		if a.OverLimit {
			continue
		}
		if c.first < i { // an agent can name thousands whom the same groups bind
			same := &a.Decisions[c.first]
			d.Rule, d.Line, d.Allowed = same.Rule, same.Line, same.Allowed
		} else {
			d.decide(c.section, p)
		}
		if !d.Allowed && a.Refused == nil {
			a.Refused = d
		}
	}
	return a
}

// decide fills in what the groups of s say of p.
func (d *Decision) decide(s *section, p *Page) {
	d.Allowed = true
	if r := s.decide(p); r != nil {
		d.Rule, d.Line, d.Allowed = r.text, r.line, r.allow
	}
}

// work counts what matching p costs at most, statements and AI-training rules
// included. Site-wide lines always count: whether they stand in for a group's is
// known only to who reads the values of that group's.
func (s Selection) work(p *Page) (octets int64) {
	if s.file != nil {
		octets = s.file.work(s.file.site, p)
	}
	for i, c := range s.choices {
		if c.section == nil || c.first < i {
			continue
		}
		octets += s.file.work(c.section, p)
	}
	return octets
}

// work counts the groups of s, which may be nil.
func (f *File) work(s *section, p *Page) (octets int64) {
	for _, g := range s.all() {
		octets += g.ruleset().work(p) + f.terms(g).work(p)
	}
	return octets
}

func (s *ruleset) work(p *Page) int64 {
	return int64(len(s.rules))*p.length + s.length*int64(len(p.readings))
}

// decide returns the rule that decides for the page: the one on the first
// reading that is refused, else the first that any reading matches.
func (s *section) decide(p *Page) (deciding *rule) {
	if s == nil {
		return nil
	}
	for _, reading := range p.readings {
		switch r := s.longest(reading); {
		case r == nil:
		case !r.allow:
			return r
		case deciding == nil:
			deciding = r
		}
	}
	return deciding
}

// longest returns the rule of all groups that decides for form.
func (s *section) longest(form string) (deciding *rule) {
	of := seek(form)
	for _, g := range s.groups {
		deciding = g.ruleset().longest(&of, deciding)
	}
	return deciding
}
