package rsl

import "strings"

// A role is what an element is for, which its name and its parent decide.
type role uint8

const (
	roleSilent role = iota // says nothing here, nor does what it contains
	roleRSL
	roleContent
	roleLicence
	rolePermits
	roleProhibits
	rolePayment
	roleAmount
	roleStandard
	roleTerms // custom
	roleAccepts
	roleReporting
)

// places holds what has a meaning below each role (T73).
var places = [roleReporting + 1]map[string]role{
	roleRSL: {"content": roleContent},
	roleContent: {
		"license": roleLicence,
		"schema":  roleSilent, "copyright": roleSilent, "terms": roleSilent, "alternate": roleSilent,
	},
	roleLicence: {
		"permits": rolePermits, "prohibits": roleProhibits, "payment": rolePayment,
		"reporting": roleReporting, "legal": roleSilent,
	},
	rolePayment: {
		"amount": roleAmount, "standard": roleStandard, "custom": roleTerms, "accepts": roleAccepts,
	},
}

// looksInto reports whether what an element of role r contains can be misplaced.
func (r role) looksInto() bool {
	return r != roleSilent && r != roleReporting && r != roleAccepts
}

// Parse reads an RSL document. An error is always a *Fault, and of a document
// with several, the one that says the most: what is not XML is reported as that,
// whatever the part before the fault looks like. Time and memory are in
// proportion to the length of body, which Parse does not keep.
func Parse(body []byte) (*Document, error) {
	if len(body) > MaxBytes {
		return nil, &Fault{CauseTooLarge, kindTooLarge, MaxBytes}
	}
	p := parser{doc: new(Document)}
	if err := p.begin(string(body)); err != nil {
		return nil, err
	}
	for {
		event, err := p.next()
		if err != nil {
			return nil, err
		}
		switch event {
		case atStart:
			p.start()
		case atText:
			p.take()
		case atClose:
			p.close()
		case atEnd:
			return p.finish()
		}
	}
}

// A parser makes a Document of what its scanner meets.
type parser struct {
	scanner
	doc   *Document
	roles []role // of the open elements

	// fault is why the document will be unread if the rest of it is XML. After
	// it nothing is taken.
	fault *Fault

	// Of the element whose text is wanted: elements of that sort do not nest.
	taken    []byte // its text so far
	kind     kind   // of a list
	listAt   int    // where a list began
	currency string // of an amount
	amounts  int    // in the current payment
}

// finish ends the document.
func (p *parser) finish() (*Document, error) {
	if p.fault == nil && len(p.doc.Entries) == 0 {
		p.fault = &Fault{CauseInvalid, kindNoContent, int64(p.at)}
	}
	if p.fault != nil {
		return nil, p.fault
	}
	return p.doc, nil
}

// start takes the start of an element.
func (p *parser) start() {
	r := p.role()
	if p.fault == nil {
		switch r {
		case roleRSL:
			p.doc.MaxAge, _ = p.attr("max-age")
			p.doc.MaxAge = clip(p.doc.MaxAge)
		case roleContent:
			r = p.content()
		case roleLicence:
			entry := p.entry()
			entry.Licences = append(entry.Licences, Licence{})
		case rolePermits, roleProhibits:
			r = p.list(r)
		case rolePayment:
			p.payment()
		case roleAmount:
			p.amount()
		case roleStandard, roleTerms, roleAccepts:
			p.lastPayment().priced = true
			p.taken = p.taken[:0]
		case roleReporting:
			p.reporting()
		}
	}
	p.roles = append(p.roles, r)
}

// role finds out what the element that just began is for, and lists it if that
// is nothing though it is RSL's.
func (p *parser) role() role {
	ours := p.space() == rslSpace
	if len(p.roles) == 0 {
		if !ours || p.name.local != "rsl" {
			p.fault = &Fault{CauseNotRSL, kindRoot, int64(p.at)}
			return roleSilent
		}
		return roleRSL
	}
	parent := p.roles[len(p.roles)-1]
	if !ours || !parent.looksInto() {
		return roleSilent
	}
	if r, ok := places[parent][p.name.local]; ok {
		return r
	}
	if p.fault == nil {
		p.doc.remark(RemarkElement, p.name.local, p.at)
	}
	return roleSilent
}

// entry returns the entry that is being read.
func (p *parser) entry() *Entry { return &p.doc.Entries[len(p.doc.Entries)-1] }

// licence returns the licence that is being read.
func (p *parser) licence() *Licence {
	entry := p.entry()
	return &entry.Licences[len(entry.Licences)-1]
}

func (p *parser) lastPayment() *Payment {
	licence := p.licence()
	return &licence.Payments[len(licence.Payments)-1]
}

// content takes a content element, or finds the document invalid (T74).
func (p *parser) content() role {
	url, ok := p.attr("url")
	if !ok {
		p.fault = &Fault{CauseInvalid, kindNoURL, int64(p.at)}
		return roleSilent
	}
	entry := Entry{URL: url}
	entry.Server, _ = p.attr("server")
	switch encrypted, ok := p.attr("encrypted"); {
	case ok && encrypted == "true":
		entry.Encrypted = true
	case ok && encrypted != "false":
		p.fault = &Fault{CauseInvalid, kindEncrypted, int64(p.at)}
		return roleSilent
	}
	p.doc.Entries = append(p.doc.Entries, entry)
	return roleContent
}

// take adds text to that of the element it stands in.
func (p *parser) take() {
	switch p.roles[len(p.roles)-1] {
	case rolePermits, roleProhibits, roleAmount, roleStandard:
	default:
		return
	}
	if p.cdata {
		p.taken = appendSection(p.taken, p.data)
		return
	}
	p.taken = appendText(p.taken, p.data)
}

// close takes the end of an element.
func (p *parser) close() {
	r := p.roles[len(p.roles)-1]
	p.roles = p.roles[:len(p.roles)-1]
	if p.fault != nil {
		return
	}
	switch r {
	case rolePermits, roleProhibits:
		p.listed(r, string(p.taken))
	case roleAmount:
		p.priced(string(p.taken))
	case roleStandard:
		p.standard(strings.TrimSpace(string(p.taken)))
	case roleLicence:
		p.licence().who.settle()
	}
}
