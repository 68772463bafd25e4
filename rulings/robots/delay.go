package robots

import "strings"

// maxDelay is what a longer delay reads as: one day in milliseconds (T44).
const maxDelay = 86_400_000

// A Delay is what a file says of the time between two requests (specs: terms
// T44, T45). How much of it is honoured is the pacing page's.
type Delay struct {
	Values       []string // readable values as written, in the order met
	Unreadable   []string // values that are none, as written
	Known        bool     // some value is readable
	Milliseconds int64    // the longest readable value
	Written      string   // that value as written
}

// Delay returns the longest delay that binds any of the selection's tokens. One
// before any group binds them all.
func (s Selection) Delay() Delay {
	var d Delay
	if s.file == nil {
		return d
	}
	for _, line := range s.file.outside[CrawlDelay] {
		d.add(line.Value)
	}
	var seen map[*group]bool // names can share some of their groups
	for _, section := range s.distinct() {
		for _, g := range section.groups {
			if len(g.lines[CrawlDelay]) == 0 || seen[g] {
				continue
			}
			if seen == nil {
				seen = make(map[*group]bool)
			}
			seen[g] = true
			for _, line := range g.lines[CrawlDelay] {
				d.add(line.Value)
			}
		}
	}
	return d
}

// Delays returns what the file says to each of the selection's tokens alone, in the
// order of Groups, to no more than most of them.
func (s Selection) Delays(most int) []Delay {
	delays := make([]Delay, min(most, len(s.choices)))
	for i := range delays {
		c := s.choices[i]
		if c.first < i {
			delays[i] = delays[c.first]
			continue
		}
		c.first = 0
		delays[i] = Selection{s.file, []choice{c}}.Delay()
	}
	return delays
}

func (d *Delay) add(value string) {
	ms, ok := parseDelay(value)
	if !ok {
		d.Unreadable = append(d.Unreadable, value)
		return
	}
	d.Values = append(d.Values, value)
	if !d.Known || ms > d.Milliseconds {
		d.Known, d.Milliseconds, d.Written = true, ms, value
	}
}

// parseDelay reads seconds, digits with at most one point among them, as whole
// milliseconds, rounded up, at most maxDelay. There may be any number of digits.
func parseDelay(value string) (ms int64, ok bool) {
	whole, fraction, _ := strings.Cut(value, ".")
	if !allDigits(whole) || !allDigits(fraction) || whole == "" && fraction == "" {
		return 0, false
	}
	for i := 0; i < len(whole) && ms < maxDelay; i++ {
		ms = ms*10 + 1000*int64(whole[i]-'0')
	}
	for unit, i := int64(100), 0; i < len(fraction) && i < 3; i++ {
		ms += unit * int64(fraction[i]-'0')
		unit /= 10
	}
	if len(fraction) > 3 && strings.Trim(fraction[3:], "0") != "" {
		ms++
	}
	return min(ms, maxDelay), true
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
