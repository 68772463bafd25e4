package rsl

// MaxBytes is the longest document that is read (specs: terms T69).
const MaxBytes = 524288

// A Document is a parsed licence. It shares memory with a copy of the octets
// that Parse was given.
type Document struct {
	Entries []Entry

	// MaxAge is the max-age of the root as written: days for which the document
	// is good. It is not used, and the record has it in the document itself (T77).
	MaxAge string

	// NotUnderstood is what the document says in words or places that mean
	// nothing here, in order and at most maxRemarks; Omitted counts the rest, which
	// the record has in the document itself.
	NotUnderstood []Remark
	Omitted       int
}

// An Entry is one content element.
type Entry struct {
	URL       string // as written
	Server    string // where licence tokens are had; empty for nowhere
	Encrypted bool
	Licences  []Licence
}

// A Licence is one license element.
type Licence struct {
	Payments  []Payment
	Reporting []Demand
	Standards []string // URLs of the standard licences that payments name, at most maxStandards (RSL 1.0, 3.6)

	permits   usage
	prohibits usage
	listed    bool        // there is a permits for uses, even if empty (T75)
	who       *conditions // nil for everybody
}

// A Payment is one payment element.
type Payment struct {
	Type string // as written, at most maxWord octets

	// Amount is a decimal as written and Currency three letters. Both are empty
	// where the price is unknown, which is never zero (T90).
	Amount, Currency string

	typed  bool // there is a type
	priced bool // there is an amount, standard, custom or accepts
}

// Free reports whether nothing is to be paid (T89).
func (p *Payment) Free() bool {
	return p.Type == "free" || p.Type == attribution || !p.typed && !p.priced
}

// Known reports whether the type is one of RSL's, so that it may be repeated to
// others than the record (T116).
func (p *Payment) Known() bool {
	switch p.Type {
	case "purchase", "subscription", "training", "crawl", "use", "contribution", attribution, "free":
		return true
	case "inference": // 0.9
		return true
	}
	return false
}

// attribution is a type of payment, and the duty that it leaves.
const attribution = "attribution"

// A Demand is one reporting element: that use be reported by a profile.
type Demand struct{ Type, Profile string }

// A Remark is something that was not understood (T73, T75, T76).
type Remark struct {
	Kind   RemarkKind
	Text   string // as written, at most maxWord octets
	Offset int64  // of the element, in octets
}

// A RemarkKind is what sort of thing was not understood.
type RemarkKind string

const (
	RemarkElement RemarkKind = "element" // or one in a place where it means nothing
	RemarkType    RemarkKind = "type"    // of permits or prohibits
	RemarkUsage   RemarkKind = "usage"   // a word in permits or prohibits
	RemarkPayment RemarkKind = "payment" // a type of payment
)

// What is kept of a stranger's words for the record.
const (
	maxRemarks   = 64
	maxStandards = 8
	maxWord      = 64
)

// remark lists text as not understood.
func (d *Document) remark(kind RemarkKind, text string, at int) {
	if len(d.NotUnderstood) == maxRemarks {
		d.Omitted++
		return
	}
	d.NotUnderstood = append(d.NotUnderstood, Remark{kind, clip(text), int64(at)})
}

// clip returns the beginning of s, whole characters of at most maxWord octets.
func clip(s string) string {
	if len(s) <= maxWord {
		return s
	}
	n := maxWord
	for n > 0 && s[n]&0xC0 == 0x80 { // inside a character
		n--
	}
	return s[:n]
}
