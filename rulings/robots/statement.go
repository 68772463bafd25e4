package robots

import (
	"cmp"
	"iter"
	"slices"
)

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
	usable := func(section *section) bool { return s.file.hasUsable(section, key, says) }
	for c, bound := range s.binding(usable) {
		for name, v := range s.file.page(bound, p, key, says) {
			if v.says >= Allows && v.says > stated[name].Says {
				stated[name].take(v.says, c, v.by.Line.Text, v.by.Line.Number)
			}
		}
	}
	return stated
}

// Selecting returns the lines of key that select for some token and some reading of
// p, where a path selects a line as a whole (T50): those that can be used and have
// the longest path that matches. They come in document order.
func (s Selection) Selecting(p *Page, key Key, says []Says) (selecting []*Directive) {
	if s.file == nil || s.unruled(p) {
		return nil
	}
	of := s.file.Directives(key)
	found := make([]bool, len(of))
	var longest []*Directive
	for _, bound := range s.binding(func(section *section) bool { return s.file.hasUsable(section, key, says) }) {
		for _, reading := range p.readings {
			longest = longest[:0]
			sought := seek(reading)
			for _, g := range bound.groups {
				longest = s.file.terms(g).of(key).longest(&sought, says, longest)
			}
			for _, d := range longest {
				found[d.Index] = true
			}
		}
	}
	for i := range of {
		if found[i] {
			selecting = append(selecting, &of[i])
		}
	}
	return selecting
}

// longest returns the longest of set and of best, which are all of one length.
func (set *directives) longest(of *sought, says []Says, best []*Directive) []*Directive {
	for i, d := range set.list {
		if len(best) > 0 && d.Length() < best[0].Length() {
			break
		}
		if !says[d.Index].Usable || set.sieves[i].rejects(of.head, of.lacking) || d.Path != nil && !d.Path.Match(of.form) {
			continue
		}
		if len(best) > 0 && d.Length() > best[0].Length() {
			best = best[:0]
		}
		best = append(best, d)
	}
	return best
}

// unruled reports that nothing but Access speaks about p.
func (s Selection) unruled(p *Page) bool {
	return p.document || p.overLimit || s.work(p) > maxWork
}

// binding yields what states the terms of each choice, each once: its section, or,
// where that has none that can be used, the site-wide lines. So a line that cannot
// be used costs no other (T22, T27).
func (s Selection) binding(has func(*section) bool) iter.Seq2[choice, *section] {
	return func(yield func(choice, *section) bool) {
		site := s.file.site
		for i, c := range s.choices {
			if c.first < i {
				continue
			}
			bound := c.section
			if bound == nil || !has(bound) {
				bound, site = site, nil
			}
			if bound != nil && !yield(c, bound) {
				return
			}
		}
	}
}

func (f *File) hasUsable(s *section, key Key, says []Says) bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool {
		return slices.ContainsFunc(f.terms(g).of(key).list, func(d *Directive) bool { return says[d.Index].Usable })
	})
}

// A verdict is what holds of one name, and the directive that said it.
type verdict struct {
	says Statement
	by   *Directive
}

// page returns what the strictest reading of p comes to by the lines of s.
func (f *File) page(s *section, p *Page, key Key, says []Says) (strictest [MaxNames]verdict) {
	for i, reading := range p.readings {
		var on [MaxNames]verdict
		of := seek(reading)
		for _, g := range s.groups {
			f.terms(g).of(key).on(&of, says, &on)
		}
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

// on adds what one reading comes to. The list begins with the longest path, so
// that few need to be matched.
func (set *directives) on(of *sought, says []Says, stated *[MaxNames]verdict) {
	for i := range set.sieves {
		if set.sieves[i].rejects(of.head, of.lacking) {
			continue
		}
		d := set.list[i]
		if !says[d.Index].Usable {
			continue
		}
		line := &says[d.Index].Names
		if !adds(stated, d, line) || d.Path != nil && !d.Path.Match(of.form) {
			continue
		}
		for name, v := range line {
			if changes(stated[name], d, v) {
				stated[name] = verdict{v, d}
			}
		}
	}
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

// changes reports whether d, saying says of a name, changes what before holds: a
// longer path selects, and of equal ones the stricter (T50, T54).
func changes(before verdict, d *Directive, says Statement) bool {
	if before.by == nil || says == Unstated {
		return says > Unstated
	}
	by := cmp.Compare(d.Length(), before.by.Length())
	return by > 0 || by == 0 && says > before.says
}
