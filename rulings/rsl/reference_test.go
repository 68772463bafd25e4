package rsl_test

import (
	"slices"
	"strings"

	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/rsl"
)

// plainSelect is Select written straight from T78 to T84, with every test of
// containment made and nothing remembered. Its entries are of urls without
// scheme, and of http and https URLs with a plain host or none.
func plainSelect(urls []string, origin string, readings []string) rsl.Selection {
	var s rsl.Selection
	var all [][]int
	for _, reading := range readings {
		var matching, unscoped []int
		var forms []string
		for i, url := range urls {
			form, of := plainScope(url)
			if form == "" {
				unscoped = append(unscoped, i)
			} else if (of == "" || of == origin) && plainMatch(form, reading) {
				matching, forms = append(matching, i), append(forms, form)
			}
		}
		s.Cost += plainCost(forms)
		switch {
		case len(matching) > 0:
			all = append(all, plainNarrowest(matching, forms))
		case len(unscoped) > 0:
			all = append(all, unscoped)
		}
	}
	if s.Cost > 64_000_000 {
		return rsl.Selection{Cost: s.Cost, Unread: "budget"}
	}
	for _, entries := range all {
		if !slices.ContainsFunc(s.Governs, func(other []int) bool { return slices.Equal(other, entries) }) {
			s.Governs = append(s.Governs, entries)
		}
	}
	return s
}

// plainScope returns the form of a url and the origin that it is for; no form
// where the entry is unscoped.
func plainScope(url string) (form, origin string) {
	target := url
	if scheme, rest, ok := strings.Cut(url, "://"); ok && url[0] != '/' && url[0] != '*' {
		host, path, found := strings.Cut(rest, "/")
		if host == "" {
			return "", ""
		}
		origin, target = scheme+"://"+host, "/"
		if found {
			target += path
		}
	}
	if target == "" {
		return "", ""
	}
	if target[0] != '/' && target[0] != '*' {
		target = "/" + target
	}
	form, _ = robots.PatternForm(target)
	return form, origin
}

func plainMatch(form, text string) bool {
	p := robots.Compile(form)
	return p.Match(text)
}

func plainGeneral(form string) string {
	general, anchored := strings.CutSuffix(form, "$")
	general = strings.ReplaceAll(general, "*", " ")
	if !anchored {
		general += " "
	}
	return general
}

func plainCost(forms []string) (cost int64) {
	distinct := slices.Compact(slices.Sorted(slices.Values(forms)))
	n := int64(len(distinct))
	for _, form := range forms {
		cost += int64(len(form))
	}
	for _, form := range distinct {
		cost += (n - 1) * int64(len(plainGeneral(form))+len(form))
	}
	return cost + max(0, n*(n-1)*64)
}

func plainNarrowest(matching []int, forms []string) (left []int) {
	within := func(f, g string) bool { return plainMatch(g, plainGeneral(f)) }
	for i, g := range forms {
		wider := slices.ContainsFunc(forms, func(f string) bool { return within(f, g) && !within(g, f) })
		if !wider {
			left = append(left, matching[i])
		}
	}
	return left
}
