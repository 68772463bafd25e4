package evidence

import (
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// An Outcome is how a crossing ended.
type Outcome string

const (
	Delivered   Outcome = "delivered"
	Refused     Outcome = "refused"
	Unavailable Outcome = "unavailable" // no answer, or an answer that was not used
	Cut         Outcome = "cut"         // the upstream broke off
	Abandoned   Outcome = "abandoned"   // the client went away
)

// A Grade says what the edge saw of a crossing. Grades are never inferred and
// never added up together.
type Grade string

const (
	Mediated Grade = "mediated" // ruled before it happened
	Observed Grade = "observed" // a tunnel that could not be read
)

// A Tri is a fact that may be unknown. The zero value is unknown and is not
// written.
type Tri uint8

const (
	Unknown Tri = iota
	No
	Yes
)

// A Count is a number that may be unknown; unknown is not written, a measured 0
// is.
type Count struct {
	N     int64
	Known bool
}

// Counted returns the known count n.
func Counted(n int64) Count { return Count{n, true} }

// A Crossing is one request an agent made to a source or service: the payload
// of crossing_opened, crossing_mediated, crossing_refused and crossing_observed
// (specs: evidence, "The crossing"). The zero value of a member means that it
// does not apply and is left out.
//
// URL holds the URL as the agent wrote it. Secret-looking values in it are
// replaced when the record is encoded (E23), so no
// caller can forget to.
type Crossing struct {
	Grade   Grade
	Class   rulings.Class
	Outcome Outcome // empty in crossing_opened
	Opened  uint64  // seq of this crossing's crossing_opened
	Client  Client

	Method    string
	URL       string
	Authority string // of a tunnel, instead of Method and URL
	Address   string // the address dialled

	ServedFrom ServedFrom // in place of a request, in a replay

	Purposes          []rulings.Purpose
	Identity          Identity
	PolicyDigest      rulings.Digest
	PolicyUnavailable string // why there was no policy; then PolicyDigest is zero
	Ruleset           string

	RequestedAt time.Time
	HTTPStatus  int
	HTTPVersion string
	Failure     Failure
	Challenge   Challenge
	Noted       []string // names of the answer's fields that are recorded and ask nothing (T102, T106)
	Charge      string   // what the origin says it charged, as the field that said so has it (T104)
	Spending    []string // names of the request's fields that spend or accept terms (T105); never their values
	Refusal     Refusal
	Gaps        []Gap
	Told        Told

	// Terms and Robots make the member declarations (E17). Ruled is true when
	// the source's terms were looked up.
	Ruled  bool
	Terms  []rulings.Term
	Ruling *rulings.Ruling

	beside []rulings.Breach // of no ruling; see Breach

	Paid []Paid // by allowances that cover it

	Pacing Pacing
	Delays []CrawlDelay // what is stated for each of Ruling.Robots that is recorded; nil when nothing is

	Withheld       *Withheld // what was read of a withheld body that was not read to its end
	RetrievedHash  rulings.Digest
	RetrievedBytes int64
	ContentHash    rulings.Digest
	ContentBytes   int64
	ContentType    string
	ContentCoding  string
	ContentRange   string

	Delivered *Delivery
	Up, Down  Count
	Timings   Timings
	Repeated  int // how many alike were folded into this record (E13)

	late latecomers
}

// Client is who asked.
type Client struct {
	Session   string
	Protocol  string // "HTTP/1.1", "h2", "tunnel", "websocket"
	Address   string
	UserAgent string // cut at 512 octets when written
}

// ServedFrom is where a replay had an answer from (specs: policy, O65). The zero
// value is nowhere.
type ServedFrom struct {
	Recording string // digest of the recording's manifest
	N         int    // the exchange, from 1
}

// Identity is what the edge was to the source.
type Identity struct {
	ProductTokens []string
	UserAgent     string // as sent; empty when no request was sent
}

// Failure is a transport fault, or the edge's own reason for not sending.
type Failure struct{ Kind, Detail string }

// Gap is something about one crossing that could not be observed, recorded or
// enforced (E21).
type Gap struct{ Reason, Detail string }

// Reasons of gaps (E21).
const (
	CapabilityUnavailable = "capability_unavailable"
	DependencyUnavailable = "dependency_unavailable"
	TermObjectUnwritten   = "term_object_unwritten"
	StoreUnavailable      = "store_unavailable"
	BudgetExhausted       = "budget_exhausted" // left out whole
	Unenforceable         = "unenforceable"    // a limit whose measure is not known
)

// A Challenge is by what status the origin refused the fetcher, and how. The zero
// value is none.
type Challenge struct {
	Status   int    // 401, 402 or 403
	Mark     string // the scheme of payment or identity it asks for, in our own words; empty when it names none
	Price    string // decimal text; empty is unknown and never zero
	Currency string
}

// Withheld is the part of a withheld body that was read (T111).
type Withheld struct {
	Bytes int64
	Hash  rulings.Digest
}

// Refusal is why and by whom a crossing was refused. Zero when it was not.
type Refusal struct {
	Reason rulings.Reason
	Whose  rulings.Whose
	Stage  rulings.Stage
	Detail string
	Term   rulings.TermRef
}

// Told is what the agent read in place of an answer of the origin.
type Told struct {
	Status  int
	Reason  rulings.Reason
	Detail  rulings.Words
	RetryAt time.Time
}

// Delivery is what of the origin's body reached the client.
type Delivery struct {
	Bytes    int64
	Complete Tri            // Unknown: the framing cannot show it (close-delimited)
	Hash     rulings.Digest // of exactly Bytes octets; only when not complete and not 0
}

// Timings are the legs that ran; a leg that did not is zero and is not written.
type Timings struct {
	Terms, Ruling, Wait, DNS, Connect, TLS, FirstByte, Body, Screen, Durable time.Duration
}
