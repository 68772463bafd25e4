package robots

import (
	"slices"
	"strings"
)

// Settled reports whether every page whose target begins with prefix gets the
// same decisions from s, whatever follows. It is asked when a ruling is made
// again and the record has the target's end replaced, so a false may be wrong
// and a true may not. A prefix that ends within the path is settled only where
// nothing rules: what follows can change how all of the path reads (T35).
func (s Selection) Settled(prefix string) bool {
	page := NewPage(prefix)
	inQuery := strings.Contains(prefix, "?")
	for _, section := range s.distinct() {
		rules := newRuleset(section.groups)
		if !inQuery && len(rules.rules) > 0 {
			return false
		}
		for _, reading := range page.readings {
			if !rules.settled(reading) {
				return false
			}
		}
	}
	return true
}

// settled reports whether one rule decides for every form that begins with form.
func (s *ruleset) settled(form string) bool {
	for _, r := range s.rules {
		switch p := &r.pattern; {
		case !strings.HasPrefix(form, p.literal):
			if strings.HasPrefix(p.literal, form) {
				return false // it goes on where form ends
			}
		case p.anchored:
			return false
		case p.Match(form):
			return true // and no longer rule can come in between
		case p.wild:
			return false
		}
	}
	return true
}

// TermsSettled is Settled for Statements and Training: whether they say the same
// of every page whose target begins with prefix.
func (s Selection) TermsSettled(prefix string) bool {
	if s.file == nil {
		return true
	}
	page := NewPage(prefix)
	inQuery := strings.Contains(prefix, "?")
	sections := s.distinct()
	if s.file.site != nil {
		sections = append(sections, s.file.site)
	}
	return !slices.ContainsFunc(sections, func(section *section) bool {
		return !newTerms(s.file, section.groups).settled(page, inQuery)
	})
}

func (t *terms) settled(p *Page, inQuery bool) bool {
	if !inQuery {
		return t.usage.paths+t.signal.paths == 0 && len(t.forbid.rules)+len(t.permit.rules) == 0
	}
	for _, reading := range p.readings {
		if !t.usage.settled(reading) || !t.signal.settled(reading) || !t.forbid.settled(reading) || !t.permit.settled(reading) {
			return false
		}
	}
	return true
}

// settled reports whether the same paths match every form that begins with form.
// Which of them count hangs on their values, so each has to be settled.
func (set *directives) settled(form string) bool {
	for _, d := range set.list {
		switch p := d.Path; {
		case p == nil:
		case !strings.HasPrefix(form, p.literal):
			if strings.HasPrefix(p.literal, form) {
				return false // it goes on where form ends
			}
		case p.anchored || !p.Match(form):
			return false
		}
	}
	return true
}
