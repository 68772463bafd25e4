package rulings

// A Purpose is what an agent does with a page. Terms are ruled for the purposes
// that the operator declares (specs: terms T2).
type Purpose string

const (
	AIInput Purpose = "ai-input" // read by a model to answer with
	AITrain Purpose = "ai-train" // to train a model
	AIIndex Purpose = "ai-index" // kept in an index for a model
	Search  Purpose = "search"   // a search that shows links and excerpts
)

// purposes is every purpose, in the order of Preferences.
var purposes = [...]Purpose{AIInput, AITrain, AIIndex, Search}

// Known reports whether p is one of the four purposes.
func (p Purpose) Known() bool { return p.index() >= 0 }

func (p Purpose) index() int {
	for i, known := range purposes {
		if p == known {
			return i
		}
	}
	return -1
}

// A Preference is one source's word on one purpose. Its zero value says that
// nothing was stated, which never refuses and is never an allowance (T3).
type Preference uint8

const (
	Unknown  Preference = iota // nothing is stated
	Allow                      // stated and permitted
	Disallow                   // stated and forbidden
)

// String returns the word for p that records and the admin API use.
func (p Preference) String() string {
	switch p {
	case Allow:
		return "allow"
	case Disallow:
		return "disallow"
	}
	return "unknown"
}

// Preferences is a preference for each purpose. The zero value states nothing.
type Preferences [len(purposes)]Preference

// For returns the preference for purpose; Unknown for one that is none.
func (p *Preferences) For(purpose Purpose) Preference {
	if i := purpose.index(); i >= 0 {
		return p[i]
	}
	return Unknown
}

// Pool adds what another source says: any disallow disallows, else any allow
// allows (T107).
func (p *Preferences) Pool(more Preferences) {
	for i := range p {
		p[i] = max(p[i], more[i])
	}
}
