package bodytype

import (
	"net/http"
	"strings"
)

// maxCodings is how many content codings are undone, one after the other.
const maxCodings = 4

// A Head is what the head of an answer says of its body.
type Head struct {
	Status int

	// Upgraded says that the connection becomes a websocket.
	Upgraded bool

	// Types and Codings are the lines of Content-Type and Content-Encoding.
	Types, Codings []string

	// Length is that of the body as served, in bytes, and -1 where it is not
	// known. It is 0 where there is no body: in answers to HEAD, and of 204 and 304.
	Length int64
}

// ByHead returns the verdict on a body that is to have at most limit bytes after
// content coding. A verdict that is not settled may still change by the first
// bytes, and the caller has yet to see that an unknown or coded length keeps to
// the limit.
//
// One that is coded has to be held to be decoded, so that one longer than MaxCoded
// as served is unreadable too.
func ByHead(h Head, limit int64) Verdict {
	v := byTypes(h.Types)
	switch {
	case h.Upgraded:
		return unreadable(Websocket)
	case h.Length == 0:
		return empty(v)
	case h.Status == http.StatusPartialContent:
		return unreadable(Partial)
	case v.Settled():
		return v
	case !areKnown(h.Codings):
		return unreadable(Coding)
	case !areCompatible(h.Types):
		return unreadable(Charset)
	case h.Length > limit && (!isCoded(h.Codings) || h.Length > MaxCoded(limit)):
		return unreadable(Length)
	}
	return v
}

// MaxCoded is how long a coded body of at most limit bytes may be as served, so that
// it is read: codings that find nothing to save make a body somewhat longer.
func MaxCoded(limit int64) int64 { return limit + limit/8 + 1024 }

// empty is the verdict on no bytes at all: they hide nothing, whatever their type.
func empty(v Verdict) Verdict {
	if v.Kind == HTML {
		return v
	}
	return Verdict{Kind: Text}
}

// isCoded reports whether there is a content coding to undo.
func isCoded(lines []string) bool {
	for _, line := range lines {
		for coding := range strings.SplitSeq(line, ",") {
			if c := strings.Trim(coding, " \t"); c != "" && !strings.EqualFold(c, "identity") {
				return true
			}
		}
	}
	return false
}

// areKnown reports whether a reader can undo all content codings (O41).
func areKnown(lines []string) bool {
	n := 0
	for _, line := range lines {
		for coding := range strings.SplitSeq(line, ",") {
			n++
			switch strings.ToLower(strings.Trim(coding, " \t")) {
			case "", "identity", "gzip", "x-gzip", "deflate", "br", "zstd":
			default:
				return false
			}
		}
	}
	return n <= maxCodings
}
