package pagetext

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Elements by what they do to the text, each in order of the alphabet.
var (
	// blocks start a line, as does what follows them: what the HTML standard
	// displays as a block (section 15.3), list items, the parts of a table and br.
	blocks = strings.Fields(`address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt
		fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol
		optgroup option p plaintext pre search section summary table tbody td tfoot th thead tr ul xmp`)

	// ofHead may stand before the body without beginning it (13.2.6.4.4 to 13.2.6.4.6).
	ofHead = strings.Fields(`base basefont bgsound head html link meta noframes noscript script style template title`)

	// dropped are those whose content is no text, head and svg aside.
	dropped = strings.Fields(`noscript script style template`)

	// points are the elements of svg and math in which HTML may stand (13.2.6.5).
	points = strings.Fields(`annotation-xml desc foreignobject mi mn mo ms mtext title`)

	// outside are the elements of HTML that end an svg or math that was left open
	// (13.2.6.5). The standard's font with attributes is not among them.
	outside = strings.Fields(`b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
		meta nobr ol p pre ruby s small span strike strong sub sup table tt u ul var`)
)

// ruleText says all that Extract does. Golden files are named after its digest,
// so whoever changes the text of a page has to change what is said here.
var ruleText = fmt.Sprintf(`wayleave-text/1

The page is read as UTF-8, a byte order mark at its beginning is dropped, and each byte that is not part of a well-formed character becomes U+FFFD. Tokens and character references are those of the HTML standard (13.2.5, scripting on), as golang.org/x/net/html v0.62 reads them. A page that begins with <?xml is XHTML in that a tag which closes itself is closed and CDATA sections are text.
Dropped: comments, doctypes, declarations, attributes, tags without an end, U+0000 outside elements whose content is raw text, the content of svg and of %[1]s, and before the body that of noframes and title. The body begins with the first start tag of an element other than %[2]s, with the first text of more than U+0009, U+000A, U+000C, U+000D and U+0020, or with an end tag of body, br or html.
In svg and math a tag that closes itself is closed, no content is raw text, and CDATA sections are text, except in %[3]s. An svg or math ends with its end tag, with a tag of one of %[4]s, or with an end tag that starts a line or ends a template.
A line starts at each start and end tag of %[5]s. A run of white space (the Unicode property White_Space, line breaks included) is one blank; at either end of a line it goes. Empty lines go. Lines are joined by one U+000A.
`, list(dropped), list(ofHead), list(points), list(outside), list(blocks))

func list(names []string) string { return strings.Join(names, ", ") }

// RuleText returns the whole text of the rules, the same in every edge of this
// version (O43, O50).
func RuleText() string { return ruleText }

// Digest returns the SHA-256 of RuleText.
func Digest() [sha256.Size]byte { return sha256.Sum256([]byte(ruleText)) }

// A trait is something that an element does to the text; an element may have
// several.
type trait uint8

const (
	block trait = 1 << iota
	head
	drop
	point
	htmlOnly
)

// traits has the elements that do anything.
var traits = func() map[string]trait {
	all := make(map[string]trait)
	for t, names := range map[trait][]string{block: blocks, head: ofHead, drop: dropped, point: points, htmlOnly: outside} {
		for _, name := range names {
			all[name] |= t
		}
	}
	return all
}()

// maxName is the length of the longest name in traits.
const maxName = len("annotation-xml")
