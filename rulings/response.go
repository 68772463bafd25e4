package rulings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/htmlhead"
	"github.com/wayleave/wayleave/rulings/robots"
)

// termFields are the fields of a response that bear on its terms, in the order in
// which their object has them (specs: terms T118). net/http keeps the order of a
// field's lines and not that of the fields.
var termFields = [...]string{"Content-Usage", "Content-Signal", "Link", "Tdm-Reservation", "Tdm-Policy", "X-Robots-Tag", "Content-Type"}

// ResponseTerms is what the head of an answer says of its terms (T65).
type ResponseTerms struct {
	Status int
	Fields http.Header // those of termFields only
	Term   Term        // the head as a term; its kind is empty when it states nothing
	HTML   *HTMLTerms  // nil: not looked at
}

// ResponseOf returns what an answer says of its terms. It keeps no field that
// does not bear on them.
func ResponseOf(status int, h http.Header) *ResponseTerms {
	r := &ResponseTerms{Status: status}
	for _, name := range termFields {
		if lines := h[name]; len(lines) > 0 {
			if r.Fields == nil {
				r.Fields = make(http.Header, 2)
			}
			r.Fields[name] = lines
		}
	}
	return r
}

// MayState reports whether an answer has anything in it that bears on its terms,
// so that ResponseOf has to be asked. Nearly every answer has only its type.
func MayState(status int, h http.Header) bool {
	if !isRuled(status) {
		return false
	}
	for _, name := range termFields {
		if lines := h[name]; len(lines) > 0 && (name != "Content-Type" || htmlhead.KindOf(lines[0]) != htmlhead.Other) {
			return true
		}
	}
	return false
}

// ruled reports whether terms of the answer are ruled: those of what the agent
// gets as the page, or is told to take its own copy for (T65).
func (r *ResponseTerms) ruled() bool { return isRuled(r.Status) }

func isRuled(status int) bool {
	return status >= 200 && status <= 299 || status == http.StatusNotModified
}

// States reports whether a field of the answer may state a term. Where none does,
// there is nothing to rule in the head and nothing to keep of it.
func (r *ResponseTerms) States() bool {
	if !r.ruled() {
		return false
	}
	for name, lines := range r.Fields {
		switch name {
		case "Content-Type":
		case "Link":
			if slices.ContainsFunc(lines, mayNameLicence) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// mayNameLicence reports whether a Link line may be about a licence: it has the
// word, or what the word can be spelled with otherwise, the escapes of a starred
// parameter or of a quoted value (T59, T62).
func mayNameLicence(line string) bool {
	return strings.ContainsAny(line, "*\\") || strings.Contains(strings.ToLower(line), "license")
}

// Octets returns the head as it is kept as a term object (T118): names in a fixed
// order, because net/http does not keep theirs, and lines of one name in their own.
func (r *ResponseTerms) Octets() []byte {
	var b bytes.Buffer
	for _, name := range termFields {
		for _, line := range r.Fields[name] {
			fmt.Fprintf(&b, "%s: %s\n", strings.ToLower(name), line)
		}
	}
	return b.Bytes()
}

// errHead is an object that is no head that was kept.
var errHead = errors.New("not the kept head of an answer")

// ParseHead is the inverse of Octets.
func ParseHead(status int, octets []byte) (*ResponseTerms, error) {
	h := make(http.Header)
	for line := range bytes.Lines(octets) {
		name, value, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), ": ")
		if !ok {
			return nil, errHead
		}
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], value)
	}
	r := ResponseOf(status, h)
	if !bytes.Equal(r.Octets(), octets) {
		return nil, errHead
	}
	return r, nil
}

// ReadsHTML reports whether the head of the page itself may state terms: an HTML
// page that comes with a body (T66).
func (r *ResponseTerms) ReadsHTML(method string) bool {
	return method != http.MethodHead && r.Status >= 200 && r.Status <= 299 && r.Status != http.StatusNoContent &&
		r.pageKind() != htmlhead.Other
}

// HTMLTerms is what the head of an HTML page says of its terms. The zero value
// is a head in which nothing is said.
type HTMLTerms struct {
	Term   Term // its kind is empty when the head states nothing
	Head   *htmlhead.Head
	Inline []InlineLicence // the scripts of Head, in order
	Unseen string          // why the head could not be looked at: gap html_terms_unseen

	unended int // of what is unread in Head: scripts that have not ended
}

// An InlineLicence is a licence that stands in the page.
type InlineLicence struct {
	Licence *Licence // nil when it cannot be read
	Unread  Cause
	Fault   string // what keeps it from being read (T71)
}

// ReadHTML reads the head of the page that is the answer's body from its content,
// no more of it than the head or the bound of T66. The error is that of content.
func (r *ResponseTerms) ReadHTML(content io.Reader, o hostkey.Origin, target string, tokens []string) (*HTMLTerms, error) {
	if r.pageKind() == htmlhead.Unseen {
		return &HTMLTerms{Unseen: "the page is in UTF-16"}, nil
	}
	options := r.htmlOptions(o, target, tokens)
	head, err := htmlhead.Read(content, options)
	return htmlTerms(head, options), err
}

// RestoreHTML returns what ReadHTML returned when octets were kept of it.
func (r *ResponseTerms) RestoreHTML(octets []byte, o hostkey.Origin, target string, tokens []string) *HTMLTerms {
	options := r.htmlOptions(o, target, tokens)
	return htmlTerms(htmlhead.Restore(octets, options), options)
}

func (r *ResponseTerms) htmlOptions(o hostkey.Origin, target string, tokens []string) htmlhead.Options {
	return htmlhead.Options{Page: pageURL(o, target), Tokens: tokens, XML: r.pageKind() == htmlhead.XHTML}
}

// pageKind is what the Content-Type says that the body is.
func (r *ResponseTerms) pageKind() htmlhead.Kind {
	lines := r.Fields["Content-Type"]
	if len(lines) == 0 {
		return htmlhead.Other
	}
	return htmlhead.KindOf(lines[0])
}

// pageURL is the URL against which what a page names is resolved. Where the target
// as sent is in no URL, its form is: a directory that is not known would lead to
// another licence, or to none.
func pageURL(o hostkey.Origin, target string) *url.URL {
	if strings.HasPrefix(target, "/") {
		if u, err := url.Parse(o.String() + target); err == nil {
			return u
		}
	}
	u, err := url.Parse(o.String() + robots.Form(target))
	if err != nil {
		u = &url.URL{Scheme: o.Scheme, Host: o.Authority(), Path: "/"}
	}
	return u
}

func htmlTerms(head *htmlhead.Head, options htmlhead.Options) *HTMLTerms {
	t := &HTMLTerms{Head: head}
	switch {
	case head == nil:
		return t
	case head.UTF16:
		t.Unseen = "the page is in UTF-16"
		return t
	}
	for _, named := range head.Licences {
		if named.Script == nil {
			continue
		}
		l := InlineLicence{}
		if l.Licence, l.Unread = ParseLicence(named.Script); l.Unread != "" {
			l.Fault = LicenceFault(named.Script)
		}
		t.Inline = append(t.Inline, l)
	}
	if head.Unread > 0 {
		// What is no longer unread when an end is put behind it was a script.
		ended := htmlhead.Restore(append(slices.Clip(head.Extract), "></script>\n"...), options)
		t.unended = max(0, head.Unread-ended.Unread)
	}
	return t
}

// Octets returns what is kept of the page as a term object (T118); nothing when
// its head states nothing.
func (t *HTMLTerms) Octets() []byte {
	if t.Head == nil {
		return nil
	}
	return t.Head.Extract
}
