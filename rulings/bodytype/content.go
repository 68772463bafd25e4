package bodytype

import (
	"bytes"
	"unicode/utf8"
)

// Looked is how many of a body's first bytes ByContent looks at (O41).
const Looked = 512

// ByContent returns what the first bytes make of v: of the content, after content
// coding, at least Looked bytes or all there are. They decide where no type is
// named, and can show that a body is not what its type says.
func (v Verdict) ByContent(first []byte) Verdict {
	first = first[:min(len(first), Looked)]
	switch {
	case v.Settled():
		return v
	case bytes.HasPrefix(first, []byte("%PDF-")):
		return unreadable(PDF)
	case isWide(first):
		return unreadable(Charset)
	case v.Readable():
		return v
	case bytes.IndexByte(first, 0) < 0 && utf8.Valid(withoutCut(first)):
		return Verdict{Kind: Text}
	}
	return unreadable(Type)
}

// isWide reports text in UTF-16 or UTF-32, by its mark or, as the first two
// characters of what has none are nearly always ASCII, by a zero byte among the
// first four (RFC 4627, section 3).
func isWide(first []byte) bool {
	if bytes.HasPrefix(first, []byte("\xff\xfe")) || bytes.HasPrefix(first, []byte("\xfe\xff")) {
		return true
	}
	four := first[:min(len(first), 4)]
	return len(four) > 1 && bytes.IndexByte(four, 0) >= 0 && len(bytes.Trim(four, "\x00")) > 0
}

// withoutCut leaves a character out that the end of what is looked at cuts.
func withoutCut(first []byte) []byte {
	if len(first) < Looked {
		return first
	}
	for n := 1; n < utf8.UTFMax; n++ {
		if last := first[len(first)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return first[:len(first)-n]
			}
			break
		}
	}
	return first
}
