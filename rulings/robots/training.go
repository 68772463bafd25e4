package robots

// newTraining compiles the AI-training lines of one key, which are matched as
// Disallow and Allow are (specs: terms T99).
func newTraining(groups []*group, key Key) ruleset {
	var all group
	for _, g := range groups {
		for _, line := range g.lines[key] {
			if r, ok := newRule(line, key == AllowAITraining); ok {
				all.rules = append(all.rules, r)
			}
		}
	}
	return newRuleset([]*group{&all})
}

// Training says whether p may be used to train models, by the AI-training rules
// that bind the selection's tokens (T99). On each reading the longest matching
// rule decides, an Allow before a Disallow of the same length; readings and
// tokens combine as for Statements. A token whose groups have no line of one of
// the two keys is bound by the site-wide ones of that key (T27).
func (s Selection) Training(p *Page) (d Stated) {
	if s.file == nil || s.unruled(p) {
		return d
	}
	site := false
	for i, c := range s.choices {
		if c.first < i {
			continue
		}
		forbid, permit := s.stating(c.section, DisallowAITraining), s.stating(c.section, AllowAITraining)
		if forbid == s.file.site && permit == s.file.site {
			if site {
				continue
			}
			site = true
		}
		if says, r := s.file.training(forbid, permit, p); says > d.Says {
			d.take(says, c, r.text, r.line)
		}
	}
	return d
}

// stating returns section if it has a line of key, else the site-wide lines, which
// are nil where there are none.
func (s Selection) stating(section *section, key Key) *section {
	if section.states(key) {
		return section
	}
	return s.file.site
}

// training returns what the strictest reading of p comes to by the rules of forbid
// and permit, and by which one: one that forbids forbids, and only all that allow
// allow.
func (f *File) training(forbid, permit *section, p *Page) (says Statement, deciding *rule) {
	silent := false
	for _, reading := range p.readings {
		var r *rule
		of := seek(reading)
		for _, g := range forbid.all() {
			r = f.terms(g).forbid.longest(&of, r)
		}
		for _, g := range permit.all() {
			r = f.terms(g).permit.longest(&of, r)
		}
		switch {
		case r == nil:
			silent = true
		case !r.allow:
			return Forbids, r
		case deciding == nil:
			deciding = r
		}
	}
	if silent || deciding == nil {
		return Unstated, nil
	}
	return Allows, deciding
}
