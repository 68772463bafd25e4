package injection

import (
	"strings"
	"testing"
)

func TestO46_AMailAddressIsReadAsThePIIDetectorReadsIt(t *testing.T) {
	for text, want := range map[string]string{
		"a@b.co":                          "a@b.co",
		"o.b+c_d%e-@x-y.Example,":         "o.b+c_d%e-@x-y.Example",
		"a@b.co.":                         "a@b.co",
		"a@b.co-":                         "a@b.co",
		"a@b.co..uk":                      "a@b.co",
		"a@b.co.1x":                       "a@b.co",
		"a@b":                             "",
		"a@b.c":                           "",
		"a@b.c0":                          "",
		"a@-b.co":                         "",
		"@b.co":                           "",
		"a b@c.de":                        "",
		strings.Repeat("a", 64) + "@b.co": strings.Repeat("a", 64) + "@b.co",
		strings.Repeat("a", 65) + "@b.co": "",
	} {
		if got := text[:mailLength([]byte(text))]; got != want {
			t.Errorf("%q begins with %q, want %q", text, got, want)
		}
	}
}
