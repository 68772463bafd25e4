package rulings

import (
	"net/http"
)

// ResponseTerms is what an answer says of its own terms (specs: terms T65).
type ResponseTerms struct {
	Status int
	Fields http.Header // those of TermFields only
	Object Digest      // of the head; zero when it states nothing
	HTML   *HTMLTerms  // nil: not looked at
}

// HTMLTerms is what the head of an HTML page says of its terms. The zero value
// is a head in which nothing is said.
type HTMLTerms struct {
	Object Digest
	Unseen string // why the head could not be looked at: gap html_terms_unseen
}
