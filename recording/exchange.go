package recording

import (
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Format names the form of the manifest and of the files it names.
const Format = "wayleave-recording/1"

const manifestName = "recording.json"

const instantForm = "2006-01-02T15:04:05.000Z"

// A Kind says what an exchange was for.
type Kind string

// The kinds of O62.
const (
	Page    Kind = "page"    // what an agent asked a source for
	Robots  Kind = "robots"  // the edge's own, as the next one
	Licence Kind = "licence" // a licence, or tdmrep.json
	Other   Kind = "other"   // what an agent asked a service for
)

// An Exchange is a request and where its answer is.
type Exchange struct {
	N      int // its place in the recording, from 1
	Kind   Kind
	Method string
	URL    string // absolute, http or https, as it was asked for
	// RequestSHA256 is the digest of the request's body; empty: it had none.
	RequestSHA256 string
	CapturedAt    time.Time

	// Files of the recording, and what they hold. A digest is "sha256:" and 64
	// lower-case hex digits.
	Head, HeadSHA256 string
	Body, BodySHA256 string
	BodyBytes        int64
}

// Host returns the host of the exchange's URL, as it is written there.
func (x Exchange) Host() string {
	u, _ := splitURL(x.URL)
	return u.Hostname()
}

// A key is what a request is served by (O64).
type key struct{ method, url, sum string }

func (x Exchange) key() key { return key{x.Method, x.URL, x.RequestSHA256} }

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// isToken reports whether s can be a method or a field's name (RFC 9110, section
// 5.6.2).
func isToken(s string) bool { return s != "" && strings.Trim(s, tokenChars) == "" }

const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// ValidURL reports whether a recording can hold a request to s: an absolute http or
// https URL in UTF-8, without user and fragment. Its path and query are whatever was
// sent, escaped rightly or not.
func ValidURL(s string) bool {
	u, rest := splitURL(s)
	return utf8.ValidString(s) && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7F || r == '#' })
}

// splitURL parts an absolute URL behind its authority. What has none is a zero URL.
func splitURL(s string) (u url.URL, rest string) {
	_, behind, ok := strings.Cut(s, "://")
	if !ok {
		return url.URL{}, s
	}
	end := len(s)
	if i := strings.IndexAny(behind, "/?#"); i >= 0 {
		end -= len(behind) - i
	}
	parsed, err := url.Parse(s[:end])
	if err != nil {
		return url.URL{}, s
	}
	return *parsed, s[end:]
}

// valid reports whether x, but for its files, can be recorded.
func (x Exchange) valid() bool {
	return isToken(x.Method) && ValidURL(x.URL) && validKind(x.Kind) && (x.RequestSHA256 == "" || digestForm.MatchString(x.RequestSHA256))
}

func validKind(k Kind) bool { return k == Page || k == Robots || k == Licence || k == Other }
