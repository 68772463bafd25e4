package robots

import "slices"

// newTraining compiles the AI-training lines of groups, which are matched as
// Disallow and Allow among themselves (specs: terms T99).
func newTraining(groups []*group) ruleset {
	var all group
	for _, g := range groups {
		for _, key := range [...]Key{DisallowAITraining, AllowAITraining} {
			for _, line := range g.lines[key] {
				if r, ok := newRule(line, key == AllowAITraining); ok {
					all.rules = append(all.rules, r)
				}
			}
		}
	}
	return newRuleset([]*group{&all})
}

// Training says whether p may be used to train models, by the AI-training rules
// that bind the selection's tokens (T99). On each reading the longest matching
// rule decides, an Allow before a Disallow of the same length; readings and
// tokens combine as for Statements. A token whose groups have no such rule is
// bound by the site-wide ones (T27).
func (s Selection) Training(p *Page) (d Stated) {
	if s.file == nil || s.unruled(p) {
		return d
	}
	for c, bound := range s.binding(func(section *section) bool { return s.file.hasTraining(section) }) {
		if says, r := s.file.training(bound, p); says > d.Says {
			d.take(says, c, r.text, r.line)
		}
	}
	return d
}

func (f *File) hasTraining(s *section) bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return len(f.terms(g).training.rules) > 0 })
}

// training returns what the strictest reading of p comes to by the rules of s, and
// by which one: one that forbids forbids, and only all that allow allow.
func (f *File) training(s *section, p *Page) (says Statement, deciding *rule) {
	silent := false
	for _, reading := range p.readings {
		var r *rule
		of := seek(reading)
		for _, g := range s.groups {
			r = f.terms(g).training.longest(&of, r)
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
