package bodytype

// A Kind is what a body is to a screen.
type Kind uint8

const (
	Undecided  Kind = iota // no type is named: the first bytes will tell
	Unreadable             // which nothing that follows changes
	Text                   // to be read as it stands
	HTML                   // to be read as it stands, and as the text in it
)

// A Reason says why a body is unreadable (O44).
type Reason string

const (
	Websocket Reason = "websocket" // a connection that has become one
	Stream    Reason = "stream"    // of events, records, pictures or messages, which must not be held
	Partial   Reason = "partial"   // a part of something (206)
	PDF       Reason = "pdf"       // by its type or by its first bytes
	Office    Reason = "office"    // an office or e-book format, which may well hold text
	Type      Reason = "type"      // another type, several, or none and no text
	Coding    Reason = "coding"    // a content coding that is not known
	Charset   Reason = "charset"   // one that is not known, or not ASCII-compatible
	Length    Reason = "length"    // longer than the limit
)

// A Verdict says whether a body can be read. Its zero value is undecided, and not
// readable.
type Verdict struct {
	Kind   Kind
	Reason Reason // of an unreadable body
}

// Readable reports that a screen can read the body, as far as it is known.
func (v Verdict) Readable() bool { return v.Kind == Text || v.Kind == HTML }

// Settled reports that the body cannot be read, whatever it holds: nothing of it
// need be held for a screen.
func (v Verdict) Settled() bool { return v.Kind == Unreadable }

func unreadable(why Reason) Verdict { return Verdict{Unreadable, why} }
