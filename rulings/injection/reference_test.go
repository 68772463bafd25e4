package injection

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A second matcher, slow and plain: it reads the same rule text, tries every pattern at
// every word by backtracking, and takes of all matches those that count.

// A refWord is a word of the text, [start, end) without what quotes it, [from, to) with.
type refWord struct {
	start, end, from, to int
	folded               string
}

// A refMatch is a match of the words from one to another, each by number.
type refMatch struct {
	start, end int
	lastBegins int // octet where the last word of it begins
	lastWord   int // the number of the word it ends with
}

type reference struct {
	text  []byte
	words []refWord
}

func refClass(r rune, size int, octet byte) class {
	if r == utf8.RuneError && size == 1 {
		switch {
		case octet == 0xa0:
			return space
		case octet == 0x91 || octet == 0x92:
			return apostrophe
		case octet >= 0xc0:
			return letter
		}
		return other
	}
	switch {
	case strings.ContainsRune("'‘’\u02bc", r):
		return apostrophe
	case strings.ContainsRune("-\u2010\u2011", r):
		return hyphen
	case strings.ContainsRune("\n\v\f\r\u0085\u2028\u2029", r):
		return lineBreak
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letter
	}
	return other
}

func newReference(text []byte) *reference {
	ref := &reference{text: text}
	var w *refWord
	for p := 0; p < len(text); {
		r, size := utf8.DecodeRune(text[p:])
		k := refClass(r, size, text[p])
		if k != letter && k != apostrophe && k != hyphen {
			w = nil
			p += size
			continue
		}
		if w == nil {
			ref.words = append(ref.words, refWord{start: p, from: p})
			w = &ref.words[len(ref.words)-1]
		}
		p += size
		w.to, w.end = p, p
	}
	for i := range ref.words {
		ref.words[i].trim(text)
	}
	return ref
}

// trim takes apostrophes and hyphens off the ends, if there is more to the word.
func (w *refWord) trim(text []byte) {
	var b strings.Builder
	start, end := -1, 0
	length := 0
	for p := w.from; p < w.to; {
		r, size := utf8.DecodeRune(text[p:])
		k := refClass(r, size, text[p])
		if k == letter && start < 0 {
			start = p
			b.Reset()
		}
		switch {
		case k == apostrophe:
			b.WriteByte('\'')
		case r < utf8.RuneSelf:
			b.WriteString(strings.ToLower(string(r)))
		default:
			b.WriteRune(r) // whatever it is, in no word of a rule
		}
		p += size
		if k == letter {
			end, length = p, b.Len()
		}
	}
	if start >= 0 {
		w.start, w.end, w.folded = start, end, b.String()[:length]
	}
}

// between reports whether white space and nothing else stands in [from, to).
func (ref *reference) between(from, to int) bool {
	if from >= to {
		return false
	}
	for p := from; p < to; {
		r, size := utf8.DecodeRune(ref.text[p:])
		if k := refClass(r, size, ref.text[p]); k != space && k != lineBreak {
			return false
		}
		p += size
	}
	return true
}

// A refState is how far a match came: the words up to next are taken, the last of them
// ends at end and reading goes on at after.
type refState struct {
	next, end, after int
	lastBegins       int
}

// match calls yield for each way in which n matches behind st.
func (ref *reference) match(n *node, st refState, yield func(refState)) {
	switch n.kind {
	case sequence:
		if len(n.parts) == 0 {
			yield(st)
			return
		}
		rest := &node{kind: sequence, parts: n.parts[1:]}
		ref.match(n.parts[0], st, func(st refState) { ref.match(rest, st, yield) })
	case choice:
		for _, part := range n.parts {
			ref.match(part, st, yield)
		}
	case option:
		yield(st)
		ref.match(n.parts[0], st, yield)
	case mail:
		p := st.after
		for p < len(ref.text) && ref.between(st.after, p+1) {
			p++
		}
		for p < len(ref.text) && !utf8.RuneStart(ref.text[p]) { // within a white space
			p++
		}
		length := mailLength(ref.text[p:])
		r, size := utf8.DecodeRune(ref.text[p+length:])
		goesOn := size > 0 && refClass(r, size, ref.text[p+length]) == letter
		if p > st.after && ref.between(st.after, p) && length > 0 && !goesOn {
			yield(refState{len(ref.words), p + length, p + length, p})
		}
	case anyWord, oneOf:
		ref.matchWord(n, st, yield)
	}
}

func (ref *reference) matchWord(n *node, st refState, yield func(refState)) {
	if st.next >= len(ref.words) {
		return
	}
	w := ref.words[st.next]
	if st.after >= 0 && !ref.between(st.after, w.from) {
		return
	}
	plain := refState{st.next + 1, w.end, w.to, w.from}
	if n.kind == anyWord {
		yield(plain)
		return
	}
	for _, want := range slices.Compact(slices.Sorted(slices.Values(n.words))) {
		if want == w.folded {
			yield(plain)
		}
		if w.to < len(ref.text) && want == w.folded+string(rune(ref.text[w.to])) && strings.ContainsAny(want, ",:") {
			yield(refState{st.next + 1, w.to + 1, w.to + 1, w.from})
		}
	}
}

// matches returns all matches of a pattern.
func (ref *reference) matches(n *node) (all []refMatch) {
	for i, w := range ref.words {
		ref.match(n, refState{next: i, after: -1}, func(st refState) {
			all = append(all, refMatch{w.start, st.end, st.lastBegins, st.next - 1})
		})
	}
	return all
}

// gapped returns the matches of two halves with a gap between.
func (ref *reference) gapped(first, second *node, length, from int) (all []refMatch) {
	heads := ref.matches(first)
	heads = slices.DeleteFunc(heads, func(m refMatch) bool { return m.start < from })
	for _, tail := range ref.matches(second) {
		before := slices.DeleteFunc(slices.Clone(heads), func(m refMatch) bool { return m.end > tail.start })
		if len(before) == 0 {
			continue
		}
		last := slices.MaxFunc(before, func(a, b refMatch) int {
			return cmp.Or(cmp.Compare(a.lastWord, b.lastWord), -cmp.Compare(a.start, b.start))
		})
		gap := ref.text[last.end:tail.start]
		broken := false
		for p := 0; p < len(gap); {
			r, size := utf8.DecodeRune(gap[p:])
			broken = broken || refClass(r, size, gap[p]) == lineBreak
			p += size
		}
		if !broken && utf8.RuneCount(gap) <= length {
			all = append(all, refMatch{last.start, tail.end, tail.lastBegins, tail.lastWord})
		}
	}
	return all
}

// counted returns of all matches those that count. all is given what ends before the
// matches it may return.
func counted(rule int, all func(from int) []refMatch) (notes []note) {
	for from := 0; ; {
		list := slices.DeleteFunc(all(from), func(m refMatch) bool { return m.start < from })
		if len(list) == 0 {
			return notes
		}
		m := slices.MinFunc(list, func(a, b refMatch) int {
			return cmp.Or(cmp.Compare(a.lastBegins, b.lastBegins), cmp.Compare(a.start, b.start), -cmp.Compare(a.end, b.end))
		})
		notes = append(notes, note{rule, m.start, m.end})
		from = m.end
	}
}

// slowScan is Scan, by the second matcher.
func slowScan(text []byte) (found []Finding, more bool) {
	ref := newReference(text)
	rule := 0
	var names []Finding
	var notes []note
	for line := range strings.Lines(RuleText()) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if !strings.HasPrefix(line, "IS") {
			continue
		}
		names = append(names, Finding{Rule: f[0], Category: f[1]})
		of := ref.ofRule(rule, f[2], f[3])
		more = more || len(of) > MaxFindings
		notes = append(notes, of[:min(len(of), MaxFindings)]...)
		rule++
	}
	slices.SortFunc(notes, func(a, b note) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.rule, b.rule)) })
	for _, n := range notes {
		found = append(found, Finding{names[n.rule].Rule, names[n.rule].Category, n.start, n.end})
	}
	return found, more
}

func (ref *reference) ofRule(rule int, grammar, text string) []note {
	switch grammar {
	case "words":
		pattern := parsePattern(text)
		at := slices.IndexFunc(pattern.parts, func(n *node) bool { return n.kind == gap })
		if at < 0 {
			all := ref.matches(pattern)
			return counted(rule, func(int) []refMatch { return slices.Clone(all) })
		}
		first := &node{kind: sequence, parts: pattern.parts[:at]}
		second := &node{kind: sequence, parts: pattern.parts[at+1:]}
		return counted(rule, func(from int) []refMatch { return ref.gapped(first, second, pattern.parts[at].n, from) })
	case "image":
		return ref.images(rule, strings.Fields(text))
	case "markers":
		return counted(rule, func(int) []refMatch { return ref.markers() })
	}
	if text[:2] == "8 " {
		return ref.runs(rule, 8, func(r rune) bool { return 0xe0000 <= r && r <= 0xe007f })
	}
	return ref.runs(rule, 16, func(r rune) bool { return strings.ContainsRune("\u200b\u200c\u200d\u2060\ufeff", r) })
}

func (ref *reference) runs(rule, least int, is func(rune) bool) (notes []note) {
	for p := 0; p < len(ref.text); {
		end := p + bytes.IndexFunc(ref.text[p:], func(r rune) bool { return !is(r) })
		if end < p {
			end = len(ref.text)
		}
		flag := rule == 13 && bytes.HasSuffix(ref.text[:p], []byte("\U0001f3f4"))
		if utf8.RuneCount(ref.text[p:end]) >= least && !flag {
			notes = append(notes, note{rule, p, end})
		}
		_, size := utf8.DecodeRune(ref.text[end:])
		p = end + size
	}
	return notes
}

func foldASCII(text []byte) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, string(text))
}

// markers returns every marker, with its end for the order.
func (ref *reference) markers() (all []refMatch) {
	add := func(start, end int) { all = append(all, refMatch{start: start, end: end, lastBegins: end}) }
	for p := range ref.text {
		rest := ref.text[p:]
		for _, literal := range []string{"<|system|>", "<|developer|>", "<<sys>>"} {
			if len(rest) >= len(literal) && foldASCII(rest[:len(literal)]) == literal {
				add(p, p+len(literal))
			}
		}
		if len(rest) >= 6 && foldASCII(rest[:6]) == "[inst]" {
			for q := p; q+7 <= len(ref.text) && !ref.breaks(p, q); q++ {
				if foldASCII(ref.text[q:q+7]) == "[/inst]" {
					add(p, q+7)
				}
			}
		}
		for _, w := range ref.words {
			if (w.folded == "system" || w.folded == "developer") && w.start == w.from && w.from > p && ref.headed(string(ref.text[p:w.from])) {
				add(p, w.end)
			}
		}
	}
	return all
}

func (ref *reference) breaks(from, to int) bool {
	return bytes.ContainsFunc(ref.text[from:to], func(r rune) bool { return refClass(r, 0, 0) == lineBreak })
}

// headed reports whether text is <|name|> and white space.
func (ref *reference) headed(text string) bool {
	name, rest, ok := strings.Cut(text, "|>")
	inner, ok2 := strings.CutPrefix(name, "<|")
	if !ok || !ok2 || inner == "" || len(inner) > 64 || strings.Trim(strings.ToLower(inner), "abcdefghijklmnopqrstuvwxyz0123456789_-'") != "" {
		return false
	}
	return rest == "" || (&reference{text: []byte(rest)}).between(0, len(rest))
}

// images keeps the open brackets, from the first that opens an image on.
func (ref *reference) images(rule int, begins []string) (notes []note) {
	var open []int // -1 for one of no image
	text := string(ref.text)
	for p := 0; p < len(text); p++ {
		rest := text[p:]
		if len(open) > 32 {
			open = open[1:]
		}
		switch {
		case strings.HasPrefix(rest, "!["):
			open = append(open, p)
			p++
		case open == nil:
		case rest[0] == '\n' && (strings.Trim(rest, " \t\r\n") == "" || strings.HasPrefix(strings.TrimLeft(rest[1:], " \t\r"), "\n")):
			open = nil
		case rest[0] == '\\':
			p++
		case rest[0] == '[':
			open = append(open, -1)
		case rest[0] == ']':
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if len(open) == 0 {
				open = nil
			}
			if !strings.HasPrefix(rest, "](") {
				continue
			}
			p += 2 + len(rest[2:]) - len(strings.TrimLeft(rest[2:], " \t\n\v\f\r"))
			address := bracketed(text[p:], " \t\n\v\f\r#")
			at := placeholder(address, begins)
			end := p + len(address)
			if at >= 0 {
				end = p + at
				whole := p + len(bracketed(text[p:], "\r\n"))
				if last >= 0 && whole < len(text) && text[whole] == ')' {
					end = whole + 1
				}
				if last >= 0 {
					notes = append(notes, note{rule, last, end})
					open = nil
				}
			}
			p = end - 1
		}
	}
	return notes
}

// bracketed returns text up to a bracket that closes none of its own, or one of stops.
func bracketed(text, stops string) string {
	depth := 0
	for i := range len(text) {
		switch {
		case strings.IndexByte(stops, text[i]) >= 0:
			return text[:i]
		case text[i] == '(':
			depth++
		case text[i] == ')':
			if depth--; depth < 0 {
				return text[:i]
			}
		}
	}
	return text
}

// placeholder returns the end of what the first value of that kind begins with, or -1.
func placeholder(address string, begins []string) int {
	before, query, _ := strings.Cut(address, "?")
	at := len(before) + 1
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		for _, b := range begins {
			if n := len(b); len(value) >= n && strings.EqualFold(value[:n], b) {
				return at + len(name) + 1 + n
			}
		}
		at += len(parameter) + 1
	}
	return -1
}
