package contentsignal

import "strings"

// A Preference is what a value says of one name, the stricter the greater.
type Preference uint8

const (
	Unstated Preference = iota // the name is not there
	Unknown                    // stated with a word that says nothing (specs: terms T54)
	Allow
	Disallow
)

// A Use is how much of the content may be kept (T53), the stricter the greater.
type Use uint8

const (
	NotStated Use = iota // the name is not there
	Other                // stated with a word that says nothing
	Full
	Reference // a link and a short extract
	Immediate // nothing beyond the answer it is used in
)

// String returns the word for u as sources write it; empty when there is none.
func (u Use) String() string {
	switch u {
	case Full:
		return "full"
	case Reference:
		return "reference"
	case Immediate:
		return "immediate"
	}
	return ""
}

// A Value is what one Content-Signal value says. The zero value says nothing.
type Value struct {
	Search, AIInput, AITrain Preference
	Use                      Use
}

// Parse reads the part of a value that stands behind its path. No input is an
// error: what is no member is passed over. It takes time in proportion to the
// length and allocates nothing.
//
// A member is name=value. What says a name is stated is the sign: a name alone
// states nothing, one with nothing behind the sign is stated (T51, T54).
func Parse(value string) (v Value) {
	for {
		var name, said string
		name, value = word(strings.TrimLeft(value, separators), separators+"=")
		if name == "" && value == "" {
			return v
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(value, white), "=")
		if !ok {
			continue
		}
		// A second sign belongs to the word, which then is none that is known.
		said, value = word(strings.TrimLeft(after, white), separators)
		v.state(name, said)
	}
}

// ParseFields reads the field lines of a response, which have no path. All count,
// and of repeats the strictest.
func ParseFields(lines []string) (v Value) {
	for _, line := range lines {
		v = Pool(v, Parse(line))
	}
	return v
}

// Pool returns what values say together: per name the strictest (T54, T107).
func Pool(values ...Value) (all Value) {
	for _, v := range values {
		all.Search = max(all.Search, v.Search)
		all.AIInput = max(all.AIInput, v.AIInput)
		all.AITrain = max(all.AITrain, v.AITrain)
		all.Use = max(all.Use, v.Use)
	}
	return all
}

const (
	white      = " \t\v\f\r\n"
	separators = white + ",;" // a semicolon or white space is read as a comma
)

// word parts s before the first of end.
func word(s, end string) (word, rest string) {
	if i := strings.IndexAny(s, end); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// state takes one member. Names and words have no letter case (T51).
func (v *Value) state(name, word string) {
	var one Value
	switch {
	case equal(name, "search"):
		one.Search = preference(word)
	case equal(name, "ai-input"):
		one.AIInput = preference(word)
	case equal(name, "ai-train"):
		one.AITrain = preference(word)
	case equal(name, "use"):
		one.Use = use(word)
	}
	*v = Pool(*v, one)
}

func preference(word string) Preference {
	if equal(word, "yes") {
		return Allow
	}
	for _, no := range [...]string{"no", "n", "false", "disallow", "deny"} {
		if equal(word, no) {
			return Disallow
		}
	}
	return Unknown
}

func use(word string) Use {
	for _, u := range [...]Use{Full, Reference, Immediate} {
		if equal(word, u.String()) {
			return u
		}
	}
	return Other
}

// equal compares ASCII letters without case. strings.EqualFold would fold
// letters of other scripts onto them too.
func equal(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
