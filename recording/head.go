package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
)

// A Head is the status and the header fields of an answer, in order.
type Head struct {
	Status int
	Fields []Field
}

// A Field is one field line. Its value may hold any octets.
type Field struct{ Name, Value string }

// secrets are the fields of an answer that carry credentials or cookies: those of
// RFC 6265 and 2965, of RFC 9110 (sections 11.6.3 and 11.7.3), those of requests
// which some answers echo, and those in which services commonly hand out a token.
var secrets = []string{
	"Set-Cookie", "Set-Cookie2", "Cookie", "Cookie2",
	"Authentication-Info", "Proxy-Authentication-Info", "Authorization", "Proxy-Authorization",
	"X-Api-Key", "X-Auth-Token", "X-Access-Token", "X-Refresh-Token", "X-Session-Token", "X-Session-Id", "X-Subject-Token",
	"X-Csrf-Token", "X-Xsrf-Token", "X-Amz-Security-Token",
}

// Secret reports whether the field name is left out of a recording.
func Secret(name string) bool {
	return slices.Contains(secrets, textproto.CanonicalMIMEHeaderKey(name))
}

const maxHead = 16 << 20 // octets of a head's file

// ErrHead is what a head that is not in its form is.
var ErrHead = errors.New("not the head of an answer in canonical form")

// public returns h without its secret fields.
func (h Head) public() Head {
	h.Fields = slices.DeleteFunc(slices.Clone(h.Fields), func(f Field) bool { return Secret(f.Name) })
	return h
}

// valid reports whether h can be recorded.
func (h Head) valid() bool {
	return h.Status >= 100 && h.Status <= 999 && !slices.ContainsFunc(h.Fields, func(f Field) bool { return !isToken(f.Name) })
}

// encode returns h as RFC 8785 canonical JSON:
// {"fields":[["Name","value"],…],"status":200}.
func (h Head) encode() []byte {
	b := []byte(`{"fields":[`)
	for i, f := range h.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = append(appendString(b, f.Name), ',')
		b = append(appendString(b, f.Value), ']')
	}
	b = append(b, `],"status":`...)
	b = strconv.AppendInt(b, int64(h.Status), 10)
	return append(b, '}')
}

// appendString appends the octets of s, each as the character of its number, as a
// string of RFC 8785 (section 3.2.2.2).
func appendString(b []byte, s string) []byte {
	const short = "btn\x00fr" // for U+0008 and the following
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			b = append(b, '\\', short[c-'\b'])
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, string(rune(c))...)
		}
	}
	return append(b, '"')
}

// decodeHead parses what encode returns, and nothing else: there is one form of a
// head, so that equal heads have equal hashes.
func decodeHead(text []byte) (Head, error) {
	var form struct {
		Fields [][]string `json:"fields"`
		Status int        `json:"status"`
	}
	if len(text) > maxHead || json.Unmarshal(text, &form) != nil {
		return Head{}, ErrHead
	}
	h := Head{Status: form.Status}
	for _, f := range form.Fields {
		if len(f) != 2 {
			return Head{}, ErrHead
		}
		h.Fields = append(h.Fields, Field{f[0], octets(f[1])})
	}
	if !h.valid() || !bytes.Equal(h.encode(), text) {
		return Head{}, ErrHead
	}
	return h, nil
}

// octets returns one octet for each character of s. Characters that are none come
// out as others, which the comparison with the text finds.
func octets(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}
