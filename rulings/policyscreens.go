package rulings

import (
	"cmp"
	"fmt"
	"mime"
	"strings"
)

// Caps are what a source's bodies may come to, in bytes; 0 is no cap.
type Caps struct {
	Body    int64 // of one body, after content coding (O35)
	Context int64 // of all that a session's sources add up to (O36)
}

// Screens says which screens run and on what (O40). The zero value runs none.
type Screens struct {
	Injection, PII, Extract bool

	Limit  int64    // of a body that is read, in bytes after content coding
	All    bool     // services are screened, too
	Exempt []string // media types that are not screened, in lower case
}

// On reports whether any screen runs.
func (s Screens) On() bool { return s.Injection || s.PII || s.Extract }

const (
	defaultLimit = 2 << 20
	mostLimit    = 256 << 20 // all that held bodies may take together (O41)
	mostBytes    = 1<<53 - 1 // RFC 8785 writes no larger number exactly
)

// readCaps checks policy.caps.
func readCaps(f CapsFile, fault faulter) Caps {
	within := func(key string, n int64) int64 {
		if n < 0 || n > mostBytes {
			fault(key, "%d is no number of bytes from 1 to %d", n, int64(mostBytes))
		}
		return n
	}
	return Caps{within("caps.body_bytes", f.BodyBytes), within("caps.context_bytes", f.ContextBytes)}
}

func (c Caps) form() CapsFile { return CapsFile{BodyBytes: c.Body, ContextBytes: c.Context} }

// readScreens checks policy.screens.
func readScreens(f ScreensFile, fault faulter) Screens {
	on := func(key, word string) bool {
		return oneOf("screens."+key, cmp.Or(word, "off"), fault, "on", "off") == "on"
	}
	s := Screens{Injection: on("injection", f.Injection), PII: on("pii", f.PII), Extract: on("extract", f.Extract), Limit: f.LimitBytes}
	s.All = oneOf("screens.scope", cmp.Or(f.Scope, "sources"), fault, "sources", "all") == "all"
	switch {
	case s.Limit == 0:
		s.Limit = defaultLimit
	case s.Limit < 1 || s.Limit > mostLimit:
		fault("screens.limit_bytes", "%d is out of range; use 1 to %d bytes", s.Limit, mostLimit)
	}
	for i, raw := range f.Exempt {
		kind, parameters, err := mime.ParseMediaType(raw)
		if err != nil || len(parameters) > 0 || !strings.Contains(kind, "/") || strings.Contains(kind, "*") {
			fault(fmt.Sprintf("screens.exempt[%d]", i), "%q is no media type; use one without wildcard and parameters, such as application/pdf", raw)
		}
		s.Exempt = append(s.Exempt, kind)
	}
	s.Exempt = sorted(s.Exempt)
	return s
}

func (s Screens) form() ScreensFile {
	word := func(on bool, words ...string) string {
		if on {
			return words[1]
		}
		return words[0]
	}
	return ScreensFile{
		Exempt: append([]string{}, s.Exempt...), Extract: word(s.Extract, "off", "on"), Injection: word(s.Injection, "off", "on"),
		LimitBytes: s.Limit, PII: word(s.PII, "off", "on"), Scope: word(s.All, "sources", "all"),
	}
}
