package rulings

import (
	"cmp"
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

	// The names of the Content-Usage lines that rule nothing (T46), by their
	// Index; nil when no line has any.
	others map[int][]string

	// documents are what any License line names, from the place where the file
	// was last found. As long as it stays there they are resolved once.
	documents atomic.Pointer[documents]
}

// documents is what the License lines of a file name.
type documents struct {
	place place
	base  *url.URL // that the lines are resolved against (T56); nil if it is no URL
	named map[document]bool
}

// A place is where a robots.txt was found.
type place struct {
	origin   hostkey.Origin
	finalURL string // after redirects; empty for none
}

// A document is a licence as it is asked for.
type document struct {
	origin hostkey.Origin
	target string
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
		says, others := usageSays(d.Value)
		s.usage = append(s.usage, says)
		if len(others) > 0 {
			if s.others == nil {
				s.others = make(map[int][]string)
			}
			s.others[d.Index] = others
		}
	}
	for _, d := range s.Directives(robots.ContentSignal) {
		s.signal = append(s.signal, signalSays(d.Value))
	}
	return s
}

// usageSays reads the value of a Content-Usage line. Its path selects the line as
// a whole (T50), so one that parses states every name. Others rule nothing.
func usageSays(value string) (says robots.Says, others []string) {
	v, ok := contentusage.Parse(value)
	if !ok {
		return robots.Says{}, nil
	}
	return robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
		usageTrain:  robots.Silent + robots.Statement(v.TrainAI),
		usageUse:    robots.Silent + robots.Statement(v.AIUse),
		usageSearch: robots.Silent + robots.Statement(v.Search),
	}}, v.Others
}

// signalSays reads the value of a Content-Signal line, whose names are selected
// each for itself (T54).
func signalSays(value string) robots.Says {
	v := contentsignal.Parse(value)
	return robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
		signalSearch: robots.Statement(v.Search),
		signalInput:  robots.Statement(v.AIInput),
		signalTrain:  robots.Statement(v.AITrain),
		signalUse:    useSays(v.Use),
	}}
}

// useSays is what a word on use comes to: full says nothing, and is no allowance
// (T3, T53).
func useSays(u contentsignal.Use) robots.Statement {
	if u == contentsignal.Full {
		return robots.Silent
	}
	return robots.Statement(u)
}

// licences returns the URLs that licences are named at for the tokens, each once, an
// empty one for what is named so that nothing can be asked for (T56, T57). It stops
// where there are more than are read of one crossing (T58).
func (s *Site) licences(of robots.Selection, finalURL string, o hostkey.Origin) []string {
	if !s.States(robots.License) {
		return nil
	}
	return of.Licences(s.documentsAt(place{o, finalURL}).base, maxLicences+1)
}

// names reports whether any License line of the file names target at o, whoever
// the line binds (T11): what its site calls a licence is one.
func (s *Site) names(finalURL string, o hostkey.Origin, target string) bool {
	return s.States(robots.License) && s.documentsAt(place{o, finalURL}).named[document{o, target}]
}

// documentsAt returns what the lines of the file name from the place p.
func (s *Site) documentsAt(p place) *documents {
	if known := s.documents.Load(); known != nil && known.place == p {
		return known
	}
	d := &documents{place: p, named: make(map[document]bool)}
	base, err := url.Parse(cmp.Or(p.finalURL, p.origin.String()+"/robots.txt"))
	if err == nil {
		d.base = base
	}
	for _, licence := range s.File.Licences(d.base) {
		if named, ok := documentOf(licence); ok {
			d.named[named] = true
		}
	}
	s.documents.Store(d)
	return d
}

// documentOf returns what is asked for to get the licence at an absolute URL.
func documentOf(raw string) (d document, ok bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return document{}, false
	}
	d.origin, err = hostkey.ParseOrigin(u.Scheme, u.Host)
	d.target = u.RequestURI()
	return d, err == nil
}
