package robots

import "slices"

// A Statement is what a line says of one name, the stricter the greater.
type Statement uint8

const (
	Unstated Statement = iota // the name is not there: a shorter path's line speaks (T54)
	Silent                    // stated, and says nothing
	Allows
	Forbids // a greater value forbids too, and more
)

// MaxNames is how many names a line of one key can speak of.
const MaxNames = 4

// Says is what the value of one directive says, as its reader understood it. The
// zero value is one that cannot be used: the line is no rule (specs: terms T49).
type Says struct {
	Usable bool

	// Names are at places the reader gives them. One for which a path selects a
	// line as a whole (T50) states every name, with Silent where the line does
	// not mention it.
	Names [MaxNames]Statement
}

// A Stated is what the file says of one name, with who said it (T30). Its zero
// value says nothing.
type Stated struct {
	Says     Statement // Unstated, Allows, or Forbids and above
	Token    string
	Group    string // as in Decision; the line may be site-wide all the same
	Wildcard bool
	Rule     string // the deciding line as written
	Line     int    // its number, from 1
}

func (s *Stated) take(says Statement, c choice, text string, number int) {
	*s = Stated{Says: says, Token: c.token, Group: c.group, Wildcard: c.group == wildcard, Rule: text, Line: number}
}

// Statements rules p by the lines of key. says holds at each Directive's Index
// what its value says.
//
// For one token and reading the longest matching path that states a name
// selects; of equal lengths the strictest holds (T50, T54). Over the readings the
// strictest holds: one that forbids forbids, and only all that allow allow
// (T38). The tokens' answers are pooled (T29). Nothing is said of the documents
// in which terms are stated (T11), nor of a page that Access finds OverLimit; a
// caller asks for no page that Access refuses (T43). It allocates nothing.
//
// says must hold one for each of the file's Directives of key.
func (s Selection) Statements(p *Page, key Key, says []Says) (stated [MaxNames]Stated) {
	if s.file == nil || len(s.file.Directives(key)) == 0 || s.unruled(p) {
		return stated
	}
	seen := make([]*directives, 0, 8)
	for _, c := range s.choices {
		set := s.binding(c, key, says)
		if slices.Contains(seen, set) {
			continue
		}
		seen = append(seen, set)
		for name, v := range set.page(p, says) {
			if v.says >= Allows && v.says > stated[name].Says {
				stated[name].take(v.says, c, v.by.Line.Text, v.by.Line.Number)
			}
		}
	}
	return stated
}

// unruled reports that nothing but Access speaks about p.
func (s Selection) unruled(p *Page) bool {
	return p.document || p.overLimit || s.work(p) > maxWork
}

// binding returns the directives of key that bind c: its section's, or, where
// none of these can be used, the site-wide ones. So a line that cannot be used
// costs no other (T22, T27).
func (s Selection) binding(c choice, key Key, says []Says) *directives {
	set := s.file.terms(c.section).of(key)
	if slices.ContainsFunc(set.list, func(d *Directive) bool { return says[d.Index].Usable }) {
		return set
	}
	return s.file.terms(s.file.site).of(key)
}

// A verdict is what holds of one name, and the directive that said it.
type verdict struct {
	says Statement
	by   *Directive
}

// page returns what the strictest reading of p comes to.
func (set *directives) page(p *Page, says []Says) (strictest [MaxNames]verdict) {
	if len(set.list) == 0 {
		return strictest
	}
	for i, reading := range p.readings {
		on := set.on(reading, says)
		if i == 0 {
			strictest = on
			continue
		}
		for name, v := range on {
			strictest[name] = stricter(strictest[name], v)
		}
	}
	return strictest
}

// stricter returns what holds of two readings: what forbids more; else what does
// not allow, because a permission has to be there on both (T6, T38).
func stricter(a, b verdict) verdict {
	switch {
	case a.says >= Forbids || b.says >= Forbids:
		if b.says > a.says {
			return b
		}
	case b.says < Allows:
		return b
	}
	return a
}

// on returns what one reading comes to. The list begins with the longest path,
// so a name that is stated stays as it is but for lines of the same length.
func (set *directives) on(reading string, says []Says) (stated [MaxNames]verdict) {
	head, lacking := headOf(reading), ^pairsOf(reading)
	for i := range set.sieves {
		if set.sieves[i].rejects(head, lacking) {
			continue
		}
		d := set.list[i]
		if !says[d.Index].Usable {
			continue
		}
		line := &says[d.Index].Names
		if !adds(&stated, d, line) || d.Path != nil && !d.Path.Match(reading) {
			continue
		}
		for name, v := range line {
			if changes(stated[name], d, v) {
				stated[name] = verdict{v, d}
			}
		}
	}
	return stated
}

// adds reports whether a match of d could still change what is stated. It spares
// the match itself, which is the dear part.
func adds(stated *[MaxNames]verdict, d *Directive, line *[MaxNames]Statement) bool {
	for name, v := range line {
		if changes(stated[name], d, v) {
			return true
		}
	}
	return false
}

// changes reports whether d, saying says of a name, changes what before holds.
func changes(before verdict, d *Directive, says Statement) bool {
	return says > before.says && (before.by == nil || before.by.Length() == d.Length())
}
