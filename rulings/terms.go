package rulings

import (
	"encoding/hex"
	"time"

	"github.com/wayleave/wayleave/rulings/robots"
)

// A Digest is a SHA-256 sum. The zero value means that there is none.
type Digest [32]byte

// String returns the form used on disk and in records: "sha256:" and 64
// lower-case hex digits. A zero digest is the empty string.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return "sha256:" + hex.EncodeToString(d[:])
}

// A TermKind says what sort of term a source published.
type TermKind string

// TermRobots is a robots.txt (RFC 9309).
const TermRobots TermKind = "robots"

// A TermOutcome is how the asking for a term ended (specs: terms T15, evidence E17).
type TermOutcome string

const (
	TermRead        TermOutcome = "read"        // parsed as far as it can be
	TermNoRules     TermOutcome = "no_rules"    // a 4xx other than 429: the source states nothing
	TermUnreachable TermOutcome = "unreachable" // the source could not be asked or gave no usable answer
	TermCutShort    TermOutcome = "cut_short"   // the edge could not ask; its own fault
	TermNotAsked    TermOutcome = "not_asked"   // an earlier stage had refused already
)

// A CacheState says where a term came from.
type CacheState string

const (
	CacheFetched CacheState = "fetched" // asked for on account of this crossing
	CacheReused  CacheState = "reused"  // a live copy
	CacheHeld    CacheState = "held"    // the last answer read, its life over, because the source cannot be reached (T16)
)

// A Term is one published term as a ruling met it: where it was asked for, what
// came of it, and where its bytes lie (T119).
type Term struct {
	Kind      TermKind
	URL       string
	FinalURL  string // after redirects; empty when it is URL
	Status    int    // HTTP status of the answer; 0 when there was none
	Outcome   TermOutcome
	Cause     string // why it is unreachable or cut short, in our words
	Cache     CacheState
	FetchedAt time.Time // end of the probe
	ExpiresAt time.Time
	Object    Digest
	Truncated bool // only the first 524,288 octets were read
	Size      int64
	Unwritten bool // its bytes could not be kept: gap term_object_unwritten
}

// Terms is everything a source has said that bears on one request. It is a
// value: whoever has the same Terms, Request and Policy reaches the same Ruling.
type Terms struct {
	Robots RobotsTerms
}

// RobotsTerms is an origin's robots.txt as it stood when the request arrived.
// Its zero value says that nothing is known, and refuses.
type RobotsTerms struct {
	Term

	// File is what rules: the parsed file (empty for a no-rules answer), or the
	// held copy's when Term.Cache is CacheHeld. Nil when nothing rules.
	File *robots.File

	// Barred is set when the address guard or the operator's policy kept the
	// edge from the origin: the request is refused for that reason and not as
	// unreachable (T17).
	Barred Reason

	// Exempt is set for requests that robots access never rules (T11).
	Exempt bool
}
