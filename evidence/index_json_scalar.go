package evidence

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// text reads a string, the cursor on its opening quote.
func (c *jsonCheck) text() lineFault {
	c.i++
	quote := c.i - 1 // the next quote, escaped or not
	for {
		if quote < c.i {
			n := bytes.IndexByte(c.b[c.i:], '"')
			if n < 0 {
				return faultJSON
			}
			quote = c.i + n
		}
		part := c.b[c.i:quote]
		escape := bytes.IndexByte(part, '\\')
		if escape >= 0 {
			part = part[:escape]
		}
		if c.controls && hasControls(part) {
			return faultJSON
		}
		c.i += len(part)
		if escape < 0 {
			c.i++
			return ""
		}
		if fault := c.escape(); fault != "" {
			return fault
		}
	}
}

// hasControls reports whether b holds an octet below the space, eight at a time:
// what borrows from the high bit of an octet that has it clear is below.
func hasControls(b []byte) bool {
	const low, high = 0x2020202020202020, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if w := binary.LittleEndian.Uint64(b); (w-low)&^w&high != 0 {
			return true
		}
	}
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

// escape reads one escape sequence; of surrogates only whole pairs.
func (c *jsonCheck) escape() lineFault {
	if c.i+1 >= len(c.b) {
		return faultJSON
	}
	if strings.IndexByte(`"\/bfnrt`, c.b[c.i+1]) >= 0 {
		c.i += 2
		return ""
	}
	r, ok := c.unit()
	switch {
	case !ok:
		return faultJSON
	case r >= 0xDC00 && r <= 0xDFFF:
		return faultSurrogate
	case r < 0xD800 || r > 0xDFFF:
		return ""
	}
	if low, ok := c.unit(); !ok || low < 0xDC00 || low > 0xDFFF {
		return faultSurrogate
	}
	return ""
}

// unit reads one UTF-16 code unit, written as an escape of four digits.
func (c *jsonCheck) unit() (r uint64, ok bool) {
	if c.i+6 > len(c.b) || c.b[c.i] != '\\' || c.b[c.i+1] != 'u' {
		return 0, false
	}
	for _, b := range c.b[c.i+2 : c.i+6] {
		if !isHex(b) {
			return 0, false
		}
	}
	r, err := strconv.ParseUint(string(c.b[c.i+2:c.i+6]), 16, 16)
	c.i += 6
	return r, err == nil
}

func (c *jsonCheck) literal(word string) lineFault {
	if !bytes.HasPrefix(c.b[c.i:], []byte(word)) {
		return faultJSON
	}
	c.i += len(word)
	return ""
}

// number reads a number by the grammar of RFC 8259 section 6.
func (c *jsonCheck) number() lineFault {
	if c.peek() == '-' {
		c.i++
	}
	if whole := c.digits(); whole == 0 || whole > 1 && c.b[c.i-whole] == '0' {
		return faultJSON
	}
	if c.peek() == '.' {
		c.i++
		if c.digits() == 0 {
			return faultJSON
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.i++
		if b := c.peek(); b == '+' || b == '-' {
			c.i++
		}
		if c.digits() == 0 {
			return faultJSON
		}
	}
	return ""
}

// digits reads as many decimal digits as stand here and returns how many.
func (c *jsonCheck) digits() int {
	start := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i - start
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
