package rsl

import "slices"

// useWords is what speaks of one use in a list: words that name it, and the word
// for everything.
type useWords struct{ name, everything usage }

func wordsFor(use string) useWords {
	name := usageOf(use)
	if name&(aiInput|aiTrain|aiIndex) != 0 {
		name |= aiAll
	}
	return useWords{name, all}
}

// rank is how closely a list speaks of a use: 2 by name, 1 as part of
// everything, 0 not at all.
func (u usage) rank(w useWords) int {
	switch {
	case u&w.name != 0:
		return 2
	case u&w.everything != 0:
		return 1
	}
	return 0
}

// owed returns the first payment that is not free, nil if there is none: any
// payable payment makes the licence payable (T89).
func (l *Licence) owed() *Payment {
	for i := range l.Payments {
		if !l.Payments[i].Free() {
			return &l.Payments[i]
		}
	}
	return nil
}

// duties returns what the use of a free licence leaves to be done (T93).
func (l *Licence) duties() (duties []string) {
	if slices.ContainsFunc(l.Payments, func(p Payment) bool { return p.Type == attribution }) {
		duties = append(duties, DutyAttribution)
	}
	if len(l.Reporting) > 0 {
		duties = append(duties, DutyReporting)
	}
	return duties
}

// metBy reports whether op is shown to meet the conditions (T88).
func (c *conditions) metBy(op Operator) bool {
	if c == nil {
		return true
	}
	var countries []string
	if op.Country != "" {
		countries = append(countries, op.Country)
		if slices.Contains(europeanUnion, op.Country) {
			countries = append(countries, "EU")
		}
	}
	return c.user.metBy(op.UserClasses) && c.geo.metBy(countries)
}

// europeanUnion is what EU covers in a list of countries (T88).
var europeanUnion = []string{
	"AT", "BE", "BG", "HR", "CY", "CZ", "DK", "EE", "FI", "FR", "DE", "GR", "HU", "IE",
	"IT", "LV", "LT", "LU", "MT", "NL", "PL", "PT", "RO", "SK", "SI", "ES", "SE",
}
