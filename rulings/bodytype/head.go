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
// A body longer than limit as served is unreadable too where it is coded: it
// would have to be held to be decoded.
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
	case h.Length > limit:
		return unreadable(Length)
	}
	return v
}

// empty is the verdict on no bytes at all: they hide nothing, whatever their type.
func empty(v Verdict) Verdict {
	if v.Kind == HTML {
		return v
	}
	return Verdict{Kind: Text}
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
