package evidence

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// secretWords make a name secret-looking wherever in it they stand (E23).
var secretWords = []string{
	"token", "key", "apikey", "secret", "password", "passwd", "pwd", "auth", "authorization",
	"signature", "sig", "credential", "credentials", "session", "sessionid", "sid", "jwt", "code", "otp", "assertion",
}

// secretEndings make a name secret-looking at its end, also inside a word (E23).
var secretEndings = []string{"token", "secret", "password", "signature", "credential"}

// secret reports whether name, as written in a URL, is secret-looking.
func (r *Redactor) secret(name string) bool {
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	} else {
		name = unescapeLoosely(name)
	}
	whole := strings.ToLower(name)
	if r.names[whole] {
		return true
	}
	bare := strings.TrimRightFunc(whole, func(c rune) bool { return !wordRune(c) })
	if slices.ContainsFunc(secretEndings, func(end string) bool { return strings.HasSuffix(bare, end) }) {
		return true
	}
	return slices.ContainsFunc(words(name), func(w string) bool { return r.names[w] })
}

// words splits name at anything that is no letter or digit and where an upper
// case letter follows a lower case one, and returns the words in lower case.
func words(name string) []string {
	var list []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			list = append(list, word.String())
			word.Reset()
		}
	}
	lower := false
	for _, c := range name {
		if !wordRune(c) || lower && unicode.IsUpper(c) {
			end()
		}
		if wordRune(c) {
			word.WriteRune(unicode.ToLower(c))
		}
		lower = unicode.IsLower(c)
	}
	end()
	return list
}

func wordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// unescapeLoosely decodes the percent-escapes of name that are whole and leaves
// the rest. url.QueryUnescape gives up on the first that is not, and a stray %
// must not hide a name.
func unescapeLoosely(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2]) {
			b.WriteByte(unhex(name[i+1])<<4 | unhex(name[i+2]))
			i += 2
			continue
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// A secretPath is one entry of evidence.secret_paths: a host and the leading
// segments of a path. What its * match is secret, and so is every segment
// behind the ones it names.
type secretPath struct {
	host     string
	port     uint16 // 0: whatever it is
	segments []string
}

func parseSecretPath(s string) secretPath {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	authority, path, _ := strings.Cut(s, "/")
	var p secretPath
	p.host, p.port = splitAuthority("", authority)
	if path = strings.TrimSuffix(path, "/"); path != "" {
		p.segments = strings.Split(path, "/")
	}
	return p
}

// segmentSet says which segments of a path are secret: those numbered in at, and
// all from number from on.
type segmentSet struct {
	at   map[int]bool
	from int
	any  bool
}

func (s segmentSet) has(i int) bool { return s.any && (i >= s.from || s.at[i]) }

// secretSegments returns which segments of path, counted as strings.Split on "/"
// counts them, are secret where scheme and authority lead.
func (r *Redactor) secretSegments(scheme, authority, path string) (set segmentSet) {
	if len(r.paths) == 0 {
		return set
	}
	host, port := splitAuthority(scheme, authority)
	segments := strings.Split(path, "/")[1:] // in front of the first / is nothing
	for _, p := range r.paths {
		if !p.matches(host, port, segments) {
			continue
		}
		if !set.any {
			set = segmentSet{at: make(map[int]bool), from: len(p.segments) + 1, any: true}
		}
		set.from = min(set.from, len(p.segments)+1)
		for i, s := range p.segments {
			if s == "*" {
				set.at[i+1] = true
			}
		}
	}
	return set
}

func (p secretPath) matches(host string, port uint16, segments []string) bool {
	if p.host != host || p.port != 0 && port != 0 && p.port != port || len(segments) < len(p.segments) {
		return false
	}
	for i, want := range p.segments {
		if want != "*" && unescapeLoosely(segments[i]) != want {
			return false
		}
	}
	return true
}

// splitAuthority returns the host of authority as its key, so that no spelling of
// it hides a secret, and the port, which is the scheme's own where none is written
// and 0 where it is not known. A host that has no key is itself in lower case.
func splitAuthority(scheme, authority string) (host string, port uint16) {
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		if n, err := strconv.ParseUint(authority[i+1:], 10, 16); err == nil {
			port = uint16(n)
		}
		authority = authority[:i]
	}
	if port == 0 {
		port = map[string]uint16{"http": 80, "https": 443}[strings.ToLower(scheme)]
	}
	host, err := hostkey.Key(authority)
	if err != nil {
		host = strings.ToLower(authority)
	}
	return host, port
}
