package evidence

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/wayleave/wayleave/rulings"
)

// A Redactor takes out of URLs what must never enter a log (E23): userinfo, the
// values of secret-looking names in the query, in path parameters and in the
// fragment, and segments of paths the operator named. A value becomes "~" and 12
// hex digits of its keyed digest (E24), so that equal values can be matched and
// not guessed back. It may be used by any number of goroutines.
type Redactor struct {
	key   []byte
	names map[string]bool // words, in lower case, that make a name secret-looking
	paths []secretPath
}

// userinfo is listed among the redacted names when a URL had one.
const userinfo = "userinfo"

// newRedactor returns a redactor for the operator's own names (evidence.secret_names)
// and paths (evidence.secret_paths) beside the built-in ones.
func newRedactor(key []byte, names, paths []string) *Redactor {
	r := &Redactor{key: key, names: make(map[string]bool)}
	for _, n := range secretWords {
		r.names[n] = true
	}
	for _, n := range names {
		r.names[strings.ToLower(n)] = true
	}
	for _, p := range paths {
		r.paths = append(r.paths, parseSecretPath(p))
	}
	return r
}

// URL returns raw with its secrets replaced; anything else stays as written. raw
// may be relative, and may be no URL at all.
func (r *Redactor) URL(raw string) string {
	if !r.suspect(raw) {
		return raw
	}
	redacted, _ := r.redact(raw)
	return redacted
}

// Text returns text with every URL in it redacted.
func (r *Redactor) Text(text string) string {
	if !strings.Contains(text, "//") || !r.suspect(text) {
		return text
	}
	// A URL in a sentence ends at white space or at what encloses it. None of
	// these can stand in a URL as it is.
	const enclosing = " \t\r\n\"<>`"
	var b strings.Builder
	for text != "" {
		n := strings.IndexAny(text, enclosing)
		if n < 0 {
			n = len(text)
		} else {
			n -= punctuation(text[:n])
		}
		word := text[:n]
		if strings.Contains(word, "//") {
			word = r.URL(word)
		}
		b.WriteString(word)
		text = text[n:]
		n = min(len(text), strings.IndexAny(text, enclosing)+1)
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// punctuation is how many octets at the end of word are the sentence's and not its
// URL's: a value they were taken into would be another one than where the URL
// stands alone.
func punctuation(word string) int {
	if strings.HasSuffix(word, ",") {
		return 1
	}
	if rest := strings.TrimSuffix(word, ":"); strings.HasPrefix(word, "(") && strings.HasSuffix(rest, ")") {
		return len(word) - len(rest) + 1
	}
	return 0
}

// Digest returns the keyed digest of the whole URL as written, by which equal
// URLs can be matched though their secrets are not in the log (url_digest).
func (r *Redactor) Digest(raw string) (d rulings.Digest) {
	m := hmac.New(sha256.New, r.key)
	m.Write([]byte(raw))
	m.Sum(d[:0])
	return d
}

// suspect is the fast way out: most URLs have nothing that could be secret.
func (r *Redactor) suspect(raw string) bool {
	return len(r.paths) > 0 || strings.ContainsAny(raw, "?;#@")
}

// redact returns raw redacted and the names whose values were replaced, in order
// and with repetitions. No names means that nothing was replaced.
func (r *Redactor) redact(raw string) (redacted string, names []string) {
	w := &redaction{r: r}
	rest, fragment, hasFragment := strings.Cut(raw, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	w.path(w.authority(rest))
	if hasQuery {
		w.b.WriteByte('?')
		w.pairs(query, "&", ";?")
	}
	if hasFragment {
		w.b.WriteByte('#')
		w.pairs(fragment, "&", ";?")
	}
	return w.b.String(), w.names
}

// A redaction is one URL on its way through.
type redaction struct {
	r     *Redactor
	b     strings.Builder
	names []string
}

// authority writes scheme and authority without userinfo, and returns the scheme,
// the host with its port, and the path that is left.
func (w *redaction) authority(s string) (scheme, host, path string) {
	start := 0
	if i := strings.Index(s, "//"); i == 0 || i > 0 && s[i-1] == ':' {
		start = i + 2
	} else if strings.HasPrefix(s, "/") {
		return "", "", s
	}
	end := len(s)
	if i := strings.IndexByte(s[start:], '/'); i >= 0 {
		end = start + i
	}
	host = s[start:end]
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
		w.names = append(w.names, userinfo)
	}
	if start == 0 && host == "" && strings.HasPrefix(s[end:], "//") {
		return w.authority(s[end:]) // what is left begins with an authority of its own
	}
	w.b.WriteString(s[:start])
	w.b.WriteString(host)
	return strings.TrimSuffix(s[:start], "://"), host, s[end:]
}

// path writes path with its parameters and the operator's secret segments
// redacted.
func (w *redaction) path(scheme, host, path string) {
	secret := w.r.secretSegments(scheme, host, path)
	for i := 0; ; i++ {
		segment, rest, more := strings.Cut(path, "/")
		switch {
		case secret.has(i) && segment != "":
			w.replace("path", segment)
		default:
			name, params, has := strings.Cut(segment, ";")
			w.b.WriteString(name)
			if has {
				w.b.WriteByte(';')
				w.pairs(params, ";", "")
			}
		}
		if !more {
			return
		}
		w.b.WriteByte('/')
		path = rest
	}
}

// pairs writes s, pairs of name=value parted by sep. A value reaches to the next
// sep. Octets of inner part names too, as some servers have it, but never end a
// secret: what such a server reads as the next name, another one reads as the
// rest of the value.
func (w *redaction) pairs(s, sep, inner string) {
	for {
		pair, rest, more := strings.Cut(s, sep)
		w.pair(pair, inner)
		if !more {
			return
		}
		w.b.WriteString(sep)
		s = rest
	}
}

func (w *redaction) pair(pair, inner string) {
	for {
		end := len(pair)
		if i := strings.IndexAny(pair, inner); i >= 0 {
			end = i
		}
		name, _, has := strings.Cut(pair[:end], "=")
		if value := pair[min(len(name)+1, len(pair)):]; has && value != "" && w.r.secret(name) {
			w.b.WriteString(name)
			w.b.WriteByte('=')
			w.replace(name, value)
			return
		}
		w.b.WriteString(pair[:end])
		if end == len(pair) {
			return
		}
		w.b.WriteByte(pair[end])
		pair = pair[end+1:]
	}
}

// replace writes the stand-in for value (E24).
func (w *redaction) replace(name, value string) {
	d := w.r.Digest(value)
	w.b.WriteByte('~')
	w.b.WriteString(hex.EncodeToString(d[:6]))
	w.names = append(w.names, name)
}
