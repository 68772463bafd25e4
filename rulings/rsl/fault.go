package rsl

import "fmt"

// A Cause says why a document is unread (specs: terms T70).
type Cause string

const (
	CauseTooLarge Cause = "too_large" // more than MaxBytes
	CauseXML      Cause = "xml"       // T71
	CauseNotRSL   Cause = "not_rsl"   // T72
	CauseInvalid  Cause = "invalid"   // T74
)

// A Fault is the error of Parse: why a document is unread, in our own words and
// with the octet at which that shows. It never quotes the document, which would
// carry a stranger's text into whatever prints the error (T71).
type Fault struct {
	Cause  Cause
	Kind   string // one of a fixed set of short phrases
	Offset int64  // in octets, from 0
}

func (f *Fault) Error() string {
	return fmt.Sprintf("rsl: %s: %s at octet %d", f.Cause, f.Kind, f.Offset)
}

// Kinds of faults.
const (
	kindTooLarge = "more octets than are read"

	kindNotUTF8     = "octets that are not UTF-8"
	kindCharacter   = "character that XML forbids"
	kindDeclaration = "malformed XML declaration"
	kindVersion     = "version other than 1.0"
	kindEncoding    = "encoding other than UTF-8 and US-ASCII"
	kindNotASCII    = "octet outside the declared US-ASCII"
	kindDoctype     = "document type declaration"
	kindMarkup      = "markup that is not closed"
	kindName        = "malformed name"
	kindAttribute   = "malformed attribute"
	kindDuplicate   = "duplicate attribute"
	kindPrefix      = "undeclared prefix"
	kindNamespace   = "forbidden namespace declaration"
	kindReference   = "malformed or unknown reference"
	kindText        = "text that ends a CDATA section"
	kindComment     = "malformed comment"
	kindInstruction = "malformed processing instruction"
	kindEndTag      = "end tag that closes nothing"
	kindUnclosed    = "element that is not closed"
	kindOutside     = "text outside the root element"
	kindSecondRoot  = "second root element"
	kindNoRoot      = "no root element"
	kindDepth       = "too many levels"

	kindRoot      = "root element that is not rsl"
	kindNoContent = "no content element"
	kindNoURL     = "content without url"
	kindEncrypted = "encrypted that is neither true nor false"
)

func xmlFault(kind string, at int) error { return &Fault{CauseXML, kind, int64(at)} }
