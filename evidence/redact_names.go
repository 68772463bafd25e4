package evidence

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
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
	segments []string
}

func parseSecretPath(s string) secretPath {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	host, path, _ := strings.Cut(s, "/")
	p := secretPath{host: strings.ToLower(host)}
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
// counts them, are secret on host.
func (r *Redactor) secretSegments(host, path string) (set segmentSet) {
	if len(r.paths) == 0 {
		return set
	}
	segments := strings.Split(path, "/")[1:] // in front of the first / is nothing
	for _, p := range r.paths {
		if !p.matches(host, segments) {
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

func (p secretPath) matches(host string, segments []string) bool {
	if name, port, ok := cutPort(host); ok && !strings.Contains(p.host, ":") && port != "" {
		host = name
	}
	if !strings.EqualFold(p.host, host) || len(segments) < len(p.segments) {
		return false
	}
	for i, want := range p.segments {
		if want != "*" && unescapeLoosely(segments[i]) != want {
			return false
		}
	}
	return true
}

// cutPort parts host:port; brackets round an IPv6 address stay.
func cutPort(host string) (name, port string, ok bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, "", false
	}
	return host[:i], host[i+1:], true
}
