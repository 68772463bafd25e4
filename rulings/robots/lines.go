package robots

import (
	"encoding/binary"
	"iter"
	"strings"
	"unicode/utf16"
)

// A Key is what a line of the file says something about.
type Key uint8

// The keys of T23. Other lines say nothing here.
const (
	unknownKey Key = iota
	keyUserAgent
	keyAllow
	keyDisallow
	keySitemap
	CrawlDelay
	ContentUsage
	ContentSignal
	License
	DisallowAITraining
	AllowAITraining
	keyCount
)

// A Line is one line of the file that states something besides access.
type Line struct {
	Key    Key
	Number int    // from 1
	Text   string // as written, without the white space round it
	Value  string // what stands behind the key, trimmed, comment gone
}

const (
	space = " \t\v\f"
	bom   = "\xef\xbb\xbf"
)

// decode returns the text of body (T21): UTF-16 with a byte order mark decoded,
// the broken beginnings of a UTF-8 mark dropped, everything else as it is.
func decode(body []byte) string {
	text := string(body)
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		return decodeUTF16(body[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		return decodeUTF16(body[2:], binary.BigEndian)
	case strings.HasPrefix(text, bom):
		return text
	}
	// Google's reader, which many files were written against, drops a mark cut short.
	return strings.TrimPrefix(strings.TrimPrefix(text, bom[:1]), bom[1:2])
}

func decodeUTF16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

// splitLines yields the lines of text without their ends, CR, LF or CRLF.
func splitLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			line, rest := text, ""
			if i := strings.IndexAny(text, "\r\n"); i >= 0 {
				line, rest = text[:i], text[i+1:]
				if text[i] == '\r' {
					rest = strings.TrimPrefix(rest, "\n")
				}
			}
			if !yield(strings.TrimPrefix(line, bom)) {
				return
			}
			text = rest
		}
	}
}

// parseLine reads one line without its end (T21, T22). blank reports that it
// holds nothing but white space and comment; a line that states nothing known
// has the key unknownKey.
func parseLine(text string, number int) (line Line, blank bool) {
	content, _, _ := strings.Cut(text, "#")
	content = strings.Trim(content, space)
	if content == "" {
		return Line{}, true
	}
	key, value, ok := strings.Cut(content, ":")
	if !ok {
		key, value, ok = twoWords(content)
	}
	if !ok {
		return Line{}, false
	}
	return Line{
		Key:    keyOf(strings.TrimRight(key, space)),
		Number: number,
		Text:   strings.Trim(text, space),
		Value:  strings.TrimLeft(value, space),
	}, false
}

// twoWords parts a line without a colon, which counts if it is two words.
func twoWords(content string) (key, value string, ok bool) {
	i := strings.IndexAny(content, space)
	if i < 0 {
		return "", "", false
	}
	key, value = content[:i], strings.TrimLeft(content[i:], space)
	return key, value, !strings.ContainsAny(value, space)
}

const maxKey = len("disallowaitraining")

// keyOf names the key that text spells, without letter case (T23). The
// misspellings are those of Google's reader; an Allow is never guessed at.
func keyOf(text string) Key {
	if len(text) > maxKey {
		return unknownKey
	}
	var buf [maxKey]byte
	switch string(appendLower(buf[:0], text)) {
	case "user-agent", "useragent", "user agent":
		return keyUserAgent
	case "allow":
		return keyAllow
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		return keyDisallow
	case "sitemap", "site-map":
		return keySitemap
	case "crawl-delay":
		return CrawlDelay
	case "content-usage":
		return ContentUsage
	case "content-signal":
		return ContentSignal
	case "license":
		return License
	case "disallowaitraining":
		return DisallowAITraining
	case "allowaitraining":
		return AllowAITraining
	}
	return unknownKey
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
