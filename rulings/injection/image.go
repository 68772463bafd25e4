package injection

import (
	"bytes"
	"strings"
)

// images is the rule over Markdown images that carry a placeholder in their query,
// to be filled in by whoever shows them.
type images struct {
	rule   int
	begins []string // what such a value begins with, in lower case
}

func parseImages(rule int, text string) *images {
	return &images{rule, strings.Fields(strings.ToLower(text))}
}

// scan notes the images of a text. It reads on from where it came to, so that an
// opening without an end costs no more than other text. It ends with the first finding
// that is left out (no other rule has been run before): each reads on in its line, and
// there could be many in one.
func (r *images) scan(f *finder) {
	for p := 0; !f.more; {
		i := bytes.Index(f.text[p:], []byte("!["))
		if i < 0 {
			return
		}
		p = r.image(f, p+i)
	}
}

// brackets are those that are open, the innermost last. When there are more than fit,
// the outermost are forgotten.
type brackets struct {
	opened [32]int // 1 + the place of an image's, 0 for any other
	top, n int
}

func (b *brackets) push(opened int) {
	b.top = (b.top + 1) % len(b.opened)
	b.opened[b.top] = opened
	b.n = min(b.n+1, len(b.opened))
}

func (b *brackets) pop() (opened int) {
	opened = b.opened[b.top]
	b.top = (b.top + len(b.opened) - 1) % len(b.opened)
	b.n--
	return opened
}

// image reads from the opening at p until all brackets that were opened are closed, or
// the paragraph ends. An image may have others, and links, in its description.
func (r *images) image(f *finder, p int) (next int) {
	text := f.text
	var open brackets
	open.push(p + 1)
	for p += 2; p < len(text) && open.n > 0; p++ {
		switch text[p] {
		case '\n':
			if blankLine(text[p+1:]) {
				return p
			}
		case '\\':
			p++
		case '!':
			if p+1 < len(text) && text[p+1] == '[' {
				p++
				open.push(p)
			}
		case '[':
			open.push(0)
		case ']':
			image := open.pop()
			if p+1 == len(text) || text[p+1] != '(' {
				break
			}
			end, depth, matches := r.address(text, p+2)
			if matches && image > 0 {
				end = closing(text, end, depth)
				f.note(r.rule, image-1, end)
				return end
			}
			p = end - 1
		}
	}
	return min(p, len(text))
}

// blankLine reports whether text begins with a line of white space, or is one.
func blankLine(text []byte) bool {
	for _, b := range text {
		if b == '\n' {
			return true
		}
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

// address reads the address that begins at p, behind white space, up to its end or to
// behind what a value of its query begins with, if that is the rule's. depth is how many
// brackets are open in it.
func (r *images) address(text []byte, p int) (end, depth int, matches bool) {
	for p < len(text) && isBlank(text[p]) {
		p++
	}
	query, value := false, false
	for ; p < len(text) && !isBlank(text[p]); p++ {
		switch text[p] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return p, depth, false
			}
		case '?':
			query = true
		case '#':
			return p, depth, false
		case '&':
			value = false
		case '=':
			if n := r.begin(text[p+1:]); query && !value && n > 0 {
				return p + 1 + n, depth, true
			}
			value = query
		}
	}
	return p, depth, false
}

// begin returns the length of what text begins with, if that is the rule's.
func (r *images) begin(text []byte) int {
	for _, b := range r.begins {
		if len(text) >= len(b) && strings.EqualFold(string(text[:len(b)]), b) {
			return len(b)
		}
	}
	return 0
}

// closing returns the end of the image, behind the bracket that closes it in the line
// of p; p, if none does.
func closing(text []byte, p, depth int) int {
	for q := p; q < len(text) && text[q] != '\n' && text[q] != '\r'; q++ {
		switch text[q] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return q + 1
			}
		}
	}
	return p
}

func isBlank(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }
