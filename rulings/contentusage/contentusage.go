package contentusage

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// MaxBytes is the longest value that is read, what a robots.txt can hold. A
// longer one does not parse. Reading takes time in proportion to the length, and
// allocates less than 200 octets for each octet (inner lists of short items with
// parameters are the dearest).
const MaxBytes = 524288

const (
	maxOthers = 16 // names recorded of one value
	maxOther  = 64 // octets kept of each
)

// A Preference is what a value says of one name.
type Preference uint8

const (
	Unknown Preference = iota // nothing
	Allow
	Disallow
)

// A Value is what one Content-Usage value says. The zero value says nothing.
type Value struct {
	TrainAI, AIUse, Search Preference

	// Others are names that rule nothing (T46), in order: the first 16, each cut
	// to 64 octets.
	Others []string
}

// Parse reads one value, an RFC 9651 Dictionary. It returns false for a value
// that does not parse as a whole, which says nothing at all (specs: terms T47).
// The empty value parses and says nothing.
func Parse(value string) (Value, bool) {
	if len(value) > MaxBytes {
		return Value{}, false
	}
	members, err := httpsfv.UnmarshalDictionary([]string{value})
	if err != nil {
		return Value{}, false
	}
	v := Value{
		TrainAI: preference(members, "train-ai"),
		AIUse:   preference(members, "ai-use"),
		Search:  preference(members, "search"),
	}
	v.Others = others(members.Names())
	return v, true
}

// ParseFields reads the field lines of a response, in order. They are one
// Dictionary (T48), so a line that does not parse costs the others.
func ParseFields(lines []string) (Value, bool) {
	total := 0
	for _, line := range lines {
		if total += len(line) + len(", "); total > MaxBytes+len(", ") {
			return Value{}, false
		}
	}
	return Parse(strings.Join(lines, ", "))
}

// preference reads the member of a name, the last one where it is repeated: only
// the Tokens y and n say something, whatever their parameters (T47).
func preference(members *httpsfv.Dictionary, name string) Preference {
	member, _ := members.Get(name)
	item, _ := member.(httpsfv.Item)
	switch item.Value {
	case httpsfv.Token("y"):
		return Allow
	case httpsfv.Token("n"):
		return Disallow
	}
	return Unknown
}

func others(names []string) (list []string) {
	for _, name := range names {
		switch name {
		case "train-ai", "ai-use", "search":
			continue
		}
		if len(list) == maxOthers {
			break
		}
		list = append(list, strings.Clone(name[:min(len(name), maxOther)])) // not the whole value's memory
	}
	return list
}
