package rulings

import (
	"net/url"
	"sync/atomic"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A Site is a robots.txt with what it states, read once for all the pages that
// are ruled on it. It never changes, so any number of goroutines may use it.
type Site struct {
	*robots.File

	// What the Content-Usage and Content-Signal lines say, by their Index.
	usage, signal []robots.Says

	// documents are the URLs of the licences that any line names, resolved
	// against the base they were last asked for with. A file has one base as
	// long as it stays where it is.
	documents atomic.Pointer[documents]
}

type documents struct {
	base string
	urls map[string]bool
}

// Places of the names of Content-Usage in a robots.Says.
const (
	usageTrain = iota
	usageUse
	usageSearch
)

// Places of the names of Content-Signal in a robots.Says.
const (
	signalSearch = iota
	signalInput
	signalTrain
	signalUse
)

// ParseSite reads a robots.txt. No input is an error (specs: terms T22); time and
// memory are in proportion to the length of body.
func ParseSite(body []byte) *Site {
	s := &Site{File: robots.Parse(body)}
	for _, d := range s.Directives(robots.ContentUsage) {
		s.usage = append(s.usage, usageSays(d.Value))
	}
	for _, d := range s.Directives(robots.ContentSignal) {
		s.signal = append(s.signal, signalSays(d.Value))
	}
	return s
}

// usageSays reads the value of a Content-Usage line. Its path selects the line as
// a whole (T50), so one that parses states every name.
func usageSays(value string) robots.Says {
	v, ok := contentusage.Parse(value)
	if !ok {
		return robots.Says{}
	}
	return robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
		usageTrain:  robots.Silent + robots.Statement(v.TrainAI),
		usageUse:    robots.Silent + robots.Statement(v.AIUse),
		usageSearch: robots.Silent + robots.Statement(v.Search),
	}}
}

// signalSays reads the value of a Content-Signal line, whose names are selected
// each for itself (T54).
func signalSays(value string) robots.Says {
	v := contentsignal.Parse(value)
	return robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
		signalSearch: robots.Statement(v.Search),
		signalInput:  robots.Statement(v.AIInput),
		signalTrain:  robots.Statement(v.AITrain),
		signalUse:    robots.Statement(v.Use),
	}}
}

// licences returns the URLs that licences are named at for the tokens, each once,
// and how many are named so that nothing can be asked for (T56, T57). It stops
// where there are more than are read of one crossing (T58).
func (s *Site) licences(tokens []string, userAgent, base string) (urls []string, unread int) {
	if !s.States(robots.License) {
		return nil, 0
	}
	b, err := url.Parse(base)
	if err != nil {
		b = nil
	}
	return s.Select(tokens, userAgent).Licences(b, maxLicences+1)
}

// names reports whether any License line of the file names target at o (T11).
func (s *Site) names(base string, o hostkey.Origin, target string) bool {
	if !s.States(robots.License) {
		return false
	}
	known := s.documents.Load()
	if known == nil || known.base != base {
		known = &documents{base, make(map[string]bool)}
		b, err := url.Parse(base)
		if err == nil {
			for _, u := range s.File.Licences(b) {
				if origin, target, ok := splitURL(u); ok {
					known.urls[origin+target] = true
				}
			}
		}
		s.documents.Store(known)
	}
	return known.urls[o.String()+target]
}

// splitURL parts an absolute URL into its origin, spelled as T13 has it, and its
// path and query.
func splitURL(raw string) (origin, target string, ok bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", false
	}
	origin, ok = spellOrigin(u.Scheme, u.Host)
	return origin, u.RequestURI(), ok
}
