package robots

import (
	"iter"
	"slices"
	"strings"
)

// A Selection is what of a File binds a list of product tokens. The zero value
// selects nothing.
type Selection struct {
	file    *File
	choices []choice
}

// A choice is the groups that bind one token.
type choice struct {
	token   string   // as declared, or as the agent's User-Agent spells it
	group   string   // in lower case, "*", or empty when no group binds the token
	section *section // nil when no group binds the token
	first   int      // the first of the choices with this section, which may be this one
}

// Select picks the groups that bind each of tokens, and each product that
// userAgent, the agent's field as received, names and some group does too (specs:
// terms T26, T29). Every token selects for itself, so what an agent calls itself
// adds groups and takes none away.
func (f *File) Select(tokens []string, userAgent string) Selection {
	s := Selection{file: f, choices: make([]choice, 0, len(tokens)+1)}
	for _, token := range tokens {
		c, ok := f.named(token)
		if !ok {
			c.section = f.sections[wildcard]
			if c.section != nil {
				c.group = wildcard
			}
		}
		c.first = len(s.choices)
		if i := slices.IndexFunc(s.choices, func(earlier choice) bool { return earlier.section == c.section }); i >= 0 {
			c.first = i
		}
		s.choices = append(s.choices, c)
	}
	if len(f.sections) == 0 || len(f.sections) == 1 && f.sections[wildcard] != nil {
		return s // the file names nobody
	}
	s.addProducts(userAgent)
	return s
}

// addProducts adds the names in userAgent that some group has. An agent can write
// thousands, so what is there already is looked up and not searched for.
func (s *Selection) addProducts(userAgent string) {
	var groups map[string]bool
	var first map[*section]int
	for name := range products(userAgent) {
		c, ok := s.file.named(name)
		if !ok {
			continue
		}
		if groups == nil { // most agents are named nowhere
			groups, first = make(map[string]bool), make(map[*section]int)
			for _, earlier := range s.choices {
				groups[earlier.group], first[earlier.section] = true, earlier.first
			}
		}
		if groups[c.group] {
			continue
		}
		if c.first, ok = first[c.section]; !ok {
			c.first = len(s.choices)
			first[c.section] = c.first
		}
		groups[c.group] = true
		s.choices = append(s.choices, c)
	}
}

// named looks up the groups that name token. The map is asked without a copy of
// the token in lower case unless it is uncommonly long.
func (f *File) named(token string) (choice, bool) {
	var buf [32]byte
	lower := appendLower(buf[:0], token)
	section := f.sections[string(lower)]
	if section == nil || token == wildcard {
		return choice{token: token}, false
	}
	return choice{token: token, group: string(lower), section: section}, true
}

// products yields the names in a User-Agent field that may address its sender:
// the first run of token octets, and every run directly followed by / (T29).
func products(userAgent string) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := true
		for rest := userAgent; rest != ""; {
			n := tokenRun(rest)
			if n == 0 {
				rest = rest[1:]
				continue
			}
			name := rest[:n]
			rest = rest[n:]
			if (first || strings.HasPrefix(rest, "/")) && !yield(name) {
				return
			}
			first = false
		}
	}
}

// Groups returns for each token the name of its groups in lower case, "*", or
// the empty string when none binds it: the declared tokens in order, then those
// the agent's User-Agent added.
func (s Selection) Groups() []string {
	groups := make([]string, len(s.choices))
	for i, c := range s.choices {
		groups[i] = c.group
	}
	return groups
}

// Lines returns the lines of keys that bind any of the selection's tokens, each
// once: those of the token's groups, or, where these have none, the site-wide
// ones (T27, T28, T57). They come token by token, and for one token by key and
// then in document order.
func (s Selection) Lines(keys ...Key) []Line {
	if s.file == nil {
		return nil
	}
	var lines []Line
	seen, taken := make(map[int]bool), make(map[*group]bool) // names can share some of their groups
	add := func(more []Line) {
		for _, line := range more {
			if !seen[line.Number] {
				seen[line.Number] = true
				lines = append(lines, line)
			}
		}
	}
	for _, bound := range s.binding(func(s *section) bool { return s.states(keys...) }) {
		for _, key := range keys {
			for _, g := range bound.groups {
				if !taken[g] {
					add(g.lines[key])
				}
			}
		}
		for _, g := range bound.groups {
			taken[g] = true
		}
	}
	return lines
}

// states reports whether some group of s has a line of one of keys. s may be nil.
func (s *section) states(keys ...Key) bool {
	return slices.ContainsFunc(s.all(), func(g *group) bool {
		return slices.ContainsFunc(keys, func(key Key) bool { return len(g.lines[key]) > 0 })
	})
}

// distinct returns each section of the selection once, in the order of the tokens.
func (s Selection) distinct() []*section {
	var sections []*section
	for i, c := range s.choices {
		if c.section != nil && c.first == i {
			sections = append(sections, c.section)
		}
	}
	return sections
}
