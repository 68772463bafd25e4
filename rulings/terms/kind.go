package terms

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A kind is one sort of document that the book asks for, with all in which it
// differs from the others. It never changes.
type kind struct {
	name   rulings.TermKind
	dir    string // of its files, below the book's
	format string // the first member of each of its files
	target string // under which an origin keeps it; empty where a URL names it

	// holds is set where the last answer rules until the next, however old it is
	// while nobody can ask (T16). Of the others nothing is left when its life is
	// over (T70, T96).
	holds bool

	// judge sorts an answer by the table of the kind. It reads no clock and no
	// body: what a 2xx says is the parser's.
	judge func(a *answer) verdict

	// parse reads the body of a 2xx. Unread is empty when it could, else why
	// not, in the words of a Term.
	parse func(body []byte) (doc document, unread string)

	// nothing is the document of an answer that has no body to read.
	nothing document

	// fits returns an error for a visit that judge never makes.
	fits func(v *visit) error
}

// A document is what the octets of an answer were parsed to. At most one of it
// is set; the zero value is of an answer that says nothing that could be read.
type document struct {
	site    *rulings.Site
	licence *rulings.Licence
	tdm     *rulings.TDMFile
}

// A place is where a document is asked for.
type place struct {
	origin hostkey.Origin
	url    string // empty for what an origin has one of
}

// url is what is asked for at p.
func (kd *kind) url(p place) string {
	if p.url != "" {
		return p.url
	}
	return p.origin.String() + kd.target
}

// file is the name of the file that keeps what p said (T14).
func (kd *kind) file(p place) string {
	if p.url == "" {
		return p.origin.FileKey() + ".json"
	}
	sum := sha256.Sum256([]byte(p.url))
	return hex.EncodeToString(sum[:]) + ".json"
}
