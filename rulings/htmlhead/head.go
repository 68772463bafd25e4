package htmlhead

import (
	"bytes"
	"io"
	"net/url"
	"strings"
)

// MaxBytes is how much of a page is looked at (specs: terms T66). What has not
// ended by then has not ended.
const MaxBytes = 65536

// MaxLicences bounds the licences of one head. It is far above what a crossing
// reads (T58), and keeps a long base from being written out once for every one of
// hundreds of short references.
const MaxLicences = 64

// Options are what a head is read with. To recompute a ruling they must be the
// same again.
type Options struct {
	// Page is the URL of the page, which references are resolved against where
	// the head has no base. Without it only absolute ones can be read.
	Page *url.URL

	// Tokens are our product tokens: metas of these names are kept.
	Tokens []string

	// XML says that the page is application/xhtml+xml (KindOf), where an element
	// may close itself: <title/> has no content. In HTML the slash means nothing.
	XML bool
}

// A Meta is a <meta> that is ruled by, its name in lower case. Its content is
// what the page says, character references resolved.
type Meta struct{ Name, Content string }

// A Licence is one that the head names, or one that stands in it.
type Licence struct {
	URL    string // absolute, http or https; empty for one that stands in the head
	Script []byte // that one, octet for octet; nil for one that is named
}

// A Head is what the head of a page states of the page's terms. The zero value
// states nothing.
type Head struct {
	// Base is the absolute URL that references were resolved against.
	Base string

	// Licences are the licences in order, of those that are named each URL once
	// and at most MaxLicences.
	Licences []Licence

	// Unread counts what speaks of a licence and cannot be read: a link without
	// an http or https URL, or over MaxLicences, and a script that has not ended
	// within the bound (T67). One or more withholds the page.
	Unread int

	// Metas are those that are ruled by, in order: robots, tdm-reservation,
	// tdm-policy and our tokens.
	Metas []Meta

	// Extract is the object that recomputes the rest (T118): the tags and
	// scripts that were taken, as they stood, each followed by a line feed. Nil
	// when nothing was taken but a base.
	Extract []byte

	// UTF16 says that the page began in UTF-16, so that its head was not seen
	// (T68). Nothing else is set then.
	UTF16 bool
}

// Read reads the head of the page that r yields, its content coding removed. It
// takes from r until the head has ended or MaxBytes octets have come, whichever
// is first, and does not call Read again once the octet that ends the head is
// there; what came with that octet is taken too, so a caller that needs the page
// keeps what it hands over. An error is r's, io.EOF aside, and comes with what
// was read before it.
func Read(r io.Reader, o Options) (*Head, error) {
	s := &scanner{r: r, limit: MaxBytes, xml: o.XML}
	c := newCollector(o)
	if s.begins() {
		c.collect(s)
	}
	h := c.finish()
	if s.isUTF16 {
		h = &Head{UTF16: true}
	}
	if s.err != nil && s.err != io.EOF {
		return h, s.err
	}
	return h, nil
}

// Restore returns what Read returned along with extract, given the same options.
func Restore(extract []byte, o Options) *Head {
	// The last line feed follows what did not end, if anything did not.
	s := &scanner{buf: bytes.TrimSuffix(extract, lineFeed), err: io.EOF, xml: o.XML}
	c := newCollector(o)
	c.collect(s)
	return c.finish()
}

var lineFeed = []byte("\n")

// begins goes past a byte order mark. It fails where the page is in UTF-16, by
// its mark or because its first character is a < of two octets, and where it
// begins with what looks like a mark and is text.
func (s *scanner) begins() bool {
	first, _ := s.peek()
	var mark string
	switch first {
	case 0xef:
		mark = "\xef\xbb\xbf"
	case 0xff:
		mark = "\xff\xfe"
	case 0xfe:
		mark = "\xfe\xff"
	case '<':
		mark = "<\x00"
	case 0:
		mark = "\x00<"
	default:
		return true
	}
	for i := range len(mark) {
		if !s.follows(mark[i]) {
			s.pos = 0
			return first == '<' // the others are text, which ends the head
		}
	}
	s.isUTF16 = len(mark) == 2
	return !s.isUTF16
}

// A collector gathers what of a head is kept.
type collector struct {
	o          Options
	metas      []string // names that are kept, in lower case
	attributes attributeReader
	head       Head
	lower      []byte      // scratch of mayHold
	base       *string     // of the first base that has one
	references []reference // to licences, in order
	kept       bool        // something but a base
}

// A reference is what the head says of a licence: the href of a link or, where it
// is not nil, the script that is one.
type reference struct {
	href   string
	script []byte
}

func newCollector(o Options) *collector {
	c := &collector{o: o, metas: []string{"robots", "tdm-reservation", "tdm-policy"}}
	for _, t := range o.Tokens {
		if t != "" {
			c.metas = append(c.metas, strings.ToLower(t))
		}
	}
	return c
}

func (c *collector) collect(s *scanner) {
	for {
		e, ok := s.next()
		if !ok {
			return
		}
		if c.take(e) {
			c.head.Extract = append(append(c.head.Extract, e.whole...), '\n')
			c.kept = c.kept || e.name != "base"
		}
	}
}

// take reports whether e is kept (T67).
func (c *collector) take(e element) bool {
	switch e.name {
	case "base":
		return e.ended && c.takeBase(c.attributes.read(e.tag))
	case "link":
		return e.ended && c.mayHold(e.tag, "license") && c.takeLink(c.attributes.read(e.tag))
	case "meta":
		return e.ended && c.mayHold(e.tag, c.metas...) && c.takeMeta(c.attributes.read(e.tag))
	case "script":
		return c.mayHold(e.tag, "rsl+xml") && c.takeScript(e)
	}
	return false
}

// mayHold reports whether a value of tag can have one of words in it, in any
// letter case. It spares most tags the reading of their attributes: a word that
// is not there as it stands could be so only through a character reference.
func (c *collector) mayHold(tag []byte, words ...string) bool {
	c.lower = c.lower[:0]
	for _, b := range tag {
		if b == '&' {
			return true
		}
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		c.lower = append(c.lower, b)
	}
	for _, w := range words {
		if bytes.Contains(c.lower, []byte(w)) {
			return true
		}
	}
	return false
}

func (c *collector) takeBase(a attributes) bool {
	if c.base != nil || !a.hasHref {
		return false
	}
	c.base = &a.href
	return true
}

func (c *collector) takeLink(a attributes) bool {
	if !holdsLicense(a.rel) || !isRSL(a.mediaType) {
		return false
	}
	c.references = append(c.references, reference{href: a.href})
	return true
}

func (c *collector) takeMeta(a attributes) bool {
	name := strings.Trim(a.name, whiteSpace)
	for _, n := range c.metas {
		if equalFold(n, name) {
			c.head.Metas = append(c.head.Metas, Meta{n, a.content})
			return true
		}
	}
	return false
}

// takeScript takes an RSL script. One whose start tag has no end is one too as
// far as it goes: it is begun and not ended.
func (c *collector) takeScript(e element) bool {
	if !isRSL(c.attributes.read(e.tag).mediaType) {
		return false
	}
	if e.ended {
		c.references = append(c.references, reference{script: append([]byte{}, e.text...)})
	} else {
		c.head.Unread++
	}
	return true
}

// finish resolves the references. The first base with a href holds for all of
// the document, whatever stands before it.
func (c *collector) finish() *Head {
	h := &c.head
	base := c.o.Page
	if c.base != nil {
		// HTML 4.2.3: a base without an address of its own does not count.
		if u, ok := parseReference(base, *c.base); ok && u.Scheme != "data" && u.Scheme != "javascript" {
			base = u
		}
	}
	if base != nil && base.IsAbs() {
		h.Base = base.String()
	}
	c.resolve(base)
	if !c.kept {
		h.Extract = nil
	}
	return h
}

// resolve lists the licences, what is named resolved against base.
func (c *collector) resolve(base *url.URL) {
	h := &c.head
	seen, named := make(map[string]bool), 0
	for _, r := range c.references {
		if r.script != nil {
			h.Licences = append(h.Licences, Licence{Script: r.script})
			continue
		}
		if seen[r.href] {
			continue
		}
		if named == MaxLicences {
			h.Unread++
			continue
		}
		licence, ok := resolve(base, r.href)
		if !ok {
			h.Unread++
			continue
		}
		if !seen[licence] {
			h.Licences = append(h.Licences, Licence{URL: licence})
			named++
		}
		seen[r.href], seen[licence] = true, true
	}
}

// holdsLicense reports whether a list of link types holds license (T67).
func holdsLicense(rel string) bool {
	for word := range strings.FieldsFuncSeq(rel, func(r rune) bool { return strings.ContainsRune(whiteSpace, r) }) {
		if equalFold(word, "license") {
			return true
		}
	}
	return false
}
