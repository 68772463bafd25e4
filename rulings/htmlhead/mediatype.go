package htmlhead

import "strings"

// A Kind says whether an answer has a head that can be read. The zero value is
// an answer of another type.
type Kind uint8

const (
	Other  Kind = iota // no HTML: nothing is held back and nothing is missed
	HTML               // text/html
	XHTML              // application/xhtml+xml: to be read with Options.XML
	Unseen             // HTML in UTF-16: its head goes unseen, which is a gap (T68)
)

// KindOf returns the kind of an answer by its Content-Type field (T66, T68).
// Another charset than UTF-16 makes no difference: the octets that matter are
// those of ASCII.
func KindOf(contentType string) Kind {
	essence, parameters, _ := strings.Cut(contentType, ";")
	kind := Other
	switch strings.ToLower(strings.Trim(essence, " \t")) {
	case "text/html":
		kind = HTML
	case "application/xhtml+xml":
		kind = XHTML
	default:
		return Other
	}
	if isUTF16(charset(parameters)) {
		return Unseen
	}
	return kind
}

// charset returns the value of the first charset parameter.
func charset(parameters string) string {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.Trim(name, " \t"), "charset") {
			return strings.Trim(value, " \t\"'")
		}
	}
	return ""
}

// isUTF16 reports whether label is one of UTF-16's in the Encoding standard.
func isUTF16(label string) bool {
	switch strings.ToLower(label) {
	case "utf-16", "utf-16le", "utf-16be", "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff", "unicodefffe":
		return true
	}
	return false
}

// isRSL reports whether a media type is RSL's, parameters aside.
func isRSL(mediaType string) bool {
	essence, _, _ := strings.Cut(mediaType, ";")
	return equalFold(strings.Trim(essence, whiteSpace), "application/rsl+xml")
}

// equalFold compares without letter case, of ASCII alone.
func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
