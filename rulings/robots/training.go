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
	seen := make([]*ruleset, 0, 8)
	for _, c := range s.choices {
		rules := &s.file.terms(c.section).training
		if len(rules.rules) == 0 {
			rules = &s.file.terms(s.file.site).training
		}
		if slices.Contains(seen, rules) {
			continue
		}
		seen = append(seen, rules)
		if says, r := rules.training(p); says > d.Says {
			d.take(says, c, r.text, r.line)
		}
	}
	return d
}

// training returns what the strictest reading of p comes to, and by which rule:
// one that forbids forbids, and only all that allow allow.
func (s *ruleset) training(p *Page) (says Statement, deciding *rule) {
	silent := len(s.rules) == 0
	for _, reading := range p.readings {
		r := s.longest(reading)
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
