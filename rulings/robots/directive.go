package robots

import (
	"cmp"
	"slices"
	"strings"
)

// A Directive is a Content-Usage or Content-Signal line, whose value may begin
// with the path it is about (specs: terms T49, T51).
type Directive struct {
	Line  Line
	Index int      // its place among the directives of its key
	Path  *Pattern // nil: the whole site
	Value string   // what stands behind the path; never empty
}

// Length is how many octets of form the path has, 0 without one (T34, T50).
func (d *Directive) Length() int {
	if d.Path == nil {
		return 0
	}
	return d.Path.Len()
}

// newDirective parts a line's value. One without a value behind the path is no
// rule (T49).
func newDirective(line Line, index int) (Directive, bool) {
	d := Directive{Line: line, Index: index, Value: line.Value}
	if strings.HasPrefix(line.Value, "/") {
		end := strings.IndexAny(line.Value, " \t")
		if end < 0 {
			return Directive{}, false
		}
		path := Compile(line.Value[:end])
		d.Path, d.Value = &path, strings.TrimLeft(line.Value[end:], space)
	}
	return d, d.Value != ""
}

// Directives returns every directive of key, ContentUsage or ContentSignal, in
// the file, whoever it binds, in document order: each at its Index. A value is
// read once for the document and then found by Index. The caller must not change
// the list.
func (f *File) Directives(key Key) []Directive {
	if key >= keyCount {
		return nil
	}
	return f.directives[key]
}

// Directives are what one group, or the site, states, in the order in which they
// select: longest path first, then as in the document.
type directives struct {
	sieves []sieve // sieves[i] is of list[i]
	list   []*Directive
	length int64 // octets of all paths
	paths  int64
}

func newDirectives(f *File, groups []*group, key Key) directives {
	var set directives
	for _, g := range groups {
		for _, line := range g.lines[key] {
			if d := f.directive(line); d != nil {
				set.list = append(set.list, d)
			}
		}
	}
	slices.SortStableFunc(set.list, func(a, b *Directive) int { return cmp.Compare(b.Length(), a.Length()) })
	set.sieves = make([]sieve, len(set.list))
	for i, d := range set.list {
		if d.Path != nil { // without one the sieve lets everything through
			set.sieves[i] = newSieve(d.Path)
			set.length += int64(d.Path.Len())
			set.paths++
		}
	}
	return set
}

// directive finds the directive that line became, nil when it is no rule.
func (f *File) directive(line Line) *Directive {
	of := f.directives[line.Key]
	i, ok := slices.BinarySearchFunc(of, line.Number, func(d Directive, number int) int { return cmp.Compare(d.Line.Number, number) })
	if !ok {
		return nil
	}
	return &of[i]
}

// Terms are the lines with paths of one group, or of the site, beside its rules.
type terms struct {
	usage, signal  directives
	forbid, permit ruleset // AI-training rules, which a group can have of one key and not of the other
}

func newTerms(f *File, groups []*group) *terms {
	return &terms{
		usage:  newDirectives(f, groups, ContentUsage),
		signal: newDirectives(f, groups, ContentSignal),
		forbid: newTraining(groups, DisallowAITraining),
		permit: newTraining(groups, AllowAITraining),
	}
}

// terms returns those of g.
func (f *File) terms(g *group) *terms {
	g.termsOnce.Do(func() { g.terms = newTerms(f, []*group{g}) })
	return g.terms
}

// none is a list of no directives.
var none directives

// of returns the directives of key.
func (t *terms) of(key Key) *directives {
	switch key {
	case ContentUsage:
		return &t.usage
	case ContentSignal:
		return &t.signal
	}
	return &none
}

// work counts what matching p against all of t costs at most (T40).
func (t *terms) work(p *Page) int64 {
	return t.usage.work(p) + t.signal.work(p) + t.forbid.work(p) + t.permit.work(p)
}

// work counts a line without a path as a pattern of length 0 (T50).
func (set *directives) work(p *Page) int64 {
	return int64(len(set.list))*p.length + set.length*int64(len(p.readings))
}
