package rulings

import (
	"encoding/hex"
	"time"
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

const (
	TermRobots  TermKind = "robots"  // a robots.txt (RFC 9309)
	TermLicence TermKind = "licence" // an RSL document
	TermTDM     TermKind = "tdmrep"  // a /.well-known/tdmrep.json
	TermHead    TermKind = "head"    // the fields of a response that state terms
	TermHTML    TermKind = "html"    // the tags of an HTML head that state terms
)

// A Mechanism is how a page came to name a licence.
type Mechanism string

const (
	ByRobots Mechanism = "robots" // a License line of robots.txt
	ByLink   Mechanism = "link"   // a Link field
	ByHTML   Mechanism = "html"   // a <link> in the HTML head
	Inline   Mechanism = "inline" // a <script> in the HTML head that is the document
)

// A TermOutcome is how the asking for a term ended (specs: terms T15, evidence E17).
type TermOutcome string

const (
	TermRead        TermOutcome = "read"        // parsed as far as it can be
	TermNoRules     TermOutcome = "no_rules"    // a 4xx other than 429: the source states nothing
	TermUnreachable TermOutcome = "unreachable" // the source could not be asked or gave no usable answer
	TermCutShort    TermOutcome = "cut_short"   // the edge could not ask; its own fault
	TermNotAsked    TermOutcome = "not_asked"   // an earlier stage had refused already
	TermMissing     TermOutcome = "missing"     // a licence or tdmrep.json answered with 404 or 410
	TermUnread      TermOutcome = "unread"      // a licence that is named and could not be read
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
	Mechanism Mechanism // of a licence
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
	Robots   RobotsTerms
	Licences []LicenceTerms // looked up so far, in the order in which they were named
	TDM      *TDMTerms      // nil: not looked up
	Response *ResponseTerms // nil: the request was not sent yet

	// Hops are breaches by where terms were had that the mode carries (specs: policy
	// O14, step 2). They have no part in a ruling.
	Hops []Breach

	// Waited is how long the look-ups took. It has no part in a ruling.
	Waited time.Duration
}

// RobotsTerms is an origin's robots.txt as it stood when the request arrived.
// Its zero value says that nothing is known, and refuses.
type RobotsTerms struct {
	Term

	// Site is what rules: the parsed file (empty for a no-rules answer), or the
	// held copy's when Term.Cache is CacheHeld. Nil when nothing rules.
	Site *Site

	// Barred is set when the address guard or the operator's policy kept the
	// edge from the origin, or its pace did: the request is refused for that
	// reason and not as unreachable (T17).
	Barred Reason

	// Pace is what to tell where Barred is a reason of pacing.
	Pace PaceTerms

	// Exempt is set for requests that robots access never rules (T11).
	Exempt bool
}

// PaceTerms is what pacing tells of a request that it did not let go: only that
// says when to ask again (specs: pacing P24, P30).
type PaceTerms struct {
	RetryAt    time.Time     // zero: may not be told
	RetryAfter time.Duration // told in any case
	Told       Words
	Cause      error // why, for the record: it has no part in a ruling
}

// A Cause says why a licence is unread (T70).
type Cause string

const (
	CauseStatus      Cause = "status"
	CauseTransport   Cause = "transport"
	CauseTooLarge    Cause = "too_large"
	CauseXML         Cause = "xml"
	CauseNotRSL      Cause = "not_rsl"
	CauseInvalid     Cause = "invalid"
	CauseBudget      Cause = "budget"
	CauseNoneGoverns Cause = "none_governs"
	CauseRobots      Cause = "robots"
	CauseScheme      Cause = "scheme"
	CauseTooMany     Cause = "too_many"
	CauseLink        Cause = "link"
)

// known reports whether c is one of the causes above.
func (c Cause) known() bool {
	switch c {
	case CauseStatus, CauseTransport, CauseTooLarge, CauseXML, CauseNotRSL, CauseInvalid, CauseBudget, CauseNoneGoverns,
		CauseRobots, CauseScheme, CauseTooMany, CauseLink:
		return true
	}
	return false
}

// LicenceTerms is one licence as it was found at its URL. Its zero value is
// neither read nor missing, and refuses.
type LicenceTerms struct {
	Term              // Outcome is read, missing, unread or cut_short
	Licence  *Licence // the document; nil unless Outcome is read
	Unread   Cause    // why Outcome is unread
	Pace     PaceTerms
	Barred   Reason // pacing's or policy's reason where that kept the edge from asking (T17, T69)
	Replaced bool   // its URL is a recorded one in which values stand replaced (E23)
	OverHTTP bool   // it came over http for a page over https: gap licence_over_http
}

// TDMTerms is an origin's tdmrep.json. It never refuses by being unavailable (T96).
type TDMTerms struct {
	Term          // Outcome is read, missing, unread or cut_short
	File *TDMFile // nil unless Outcome is read
}

// A Need is a term that has to be looked up before a request can be decided.
type Need struct {
	Kind      TermKind // robots, licence, tdmrep or html
	URL       string   // of a licence
	Mechanism Mechanism
}
