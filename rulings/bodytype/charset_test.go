package bodytype

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

// printable has the characters of ASCII that text is made of.
func printable() string {
	var b strings.Builder
	b.WriteString("\t\n\f\r")
	for c := byte(' '); c < 0x7f; c++ {
		b.WriteByte(c)
	}
	return b.String()
}

// A second list of the labels, and the decoders behind them, must agree that what
// is taken for ASCII is ASCII.
func TestO41_CompatibleCharsetsAreASCII(t *testing.T) {
	ascii := printable()
	for label := range compatible {
		encoding, name := charset.Lookup(label)
		if encoding == nil || name == "replacement" {
			t.Errorf("%s is no label of the Encoding standard", label)
			continue
		}
		if got, err := encoding.NewDecoder().String(ascii); err != nil || got != ascii {
			t.Errorf("%s, which is %s, spells ASCII otherwise: %q, %v", label, name, got, err)
		}
		for lead := byte(0x80); lead != 0; lead++ {
			for _, sign := range "<>&\"'=/;#!- \t\n" {
				got, err := encoding.NewDecoder().String(string([]byte{lead, byte(sign)}))
				if err != nil || !strings.HasSuffix(got, string(sign)) {
					t.Errorf("%s, which is %s, has a character of %x %q: %q, %v", label, name, lead, sign, got, err)
				}
			}
		}
	}
}

func TestO44_IncompatibleCharsetsAreNotTaken(t *testing.T) {
	for _, label := range []string{
		"utf-16", "utf-16le", "utf-16be", "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff", "unicodefffe", "utf-32", "utf-32le", "utf-32be", "ucs-4",
		"iso-2022-jp", "csiso2022jp", "iso-2022-kr", "csiso2022kr", "iso-2022-cn", "iso-2022-cn-ext", "hz-gb-2312", "utf-7", "unicode-1-1-utf-7", "replacement", "ebcdic-cp-us", "ibm037", "",
	} {
		if compatible[label] {
			t.Errorf("%s is taken for compatible", label)
		}
	}
}
