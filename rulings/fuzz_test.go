package rulings_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// decideSeeds are crossings that take the decision through each of its stages:
// target, robots.txt, licence, tdmrep.json, the fields of the answer, its page.
var decideSeeds = [][6]string{
	{"page", "", "", "", "", ""},
	{"a//b", "User-agent: *\nDisallow: /a/\nContent-Signal: /x ai-input=no\n", "", "", "", ""},
	{"page?x=%zz", "License: /l.xml\nLicense: ftp:x\nContent-Usage: ai-use=y, train-ai=n\n", rslOf(entry("/", freeForAll, noTraining)), `[{"location":"*","tdm-reservation":1}]`, "", ""},
	{"x", "", rslOf(entry("", priced)), "", `<l.xml>; rel=license; type="application/rsl+xml"`, page(linkTag("m.xml"), scriptTag(rslOf(entry("", noInput))))},
	{"..;/x", "DisallowAITraining: x\n", "<rsl>", "[]", "noai", page(`<meta name="robots" content="noai">`, `<meta name="tdm-reservation" content="1">`)},
	{"robots.txt", "Disallow: /", "", "{", "ai-use=n, ai-input=no", "<script type=application/rsl+xml>"},
}

// FuzzDecideT5 holds of every crossing that it comes to an end that is told, is
// the same when it is decided again, and when it is decided on what is kept of
// the answer.
func FuzzDecideT5(f *testing.F) {
	if len(decideSeeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range decideSeeds {
		f.Add(s[0], s[1], s[2], s[3], s[4], s[5])
	}
	f.Fuzz(func(t *testing.T, target, robotsTxt, licence, tdmrep, field, html string) {
		c := crossing{
			Page: "https://site.test/" + target, Purposes: allPurposes, Robots: robotsTxt, TDMRep: &tdmrep, Any: &answer{200, licence},
			Request: rulings.Request{UserAgent: target},
		}
		field = strings.Trim(strings.NewReplacer("\n", "", "\r", "", "\x00", "").Replace(field), " \t") // as net/http has it
		c.Response.Fields, c.Response.HTML = make(map[string][]string), html
		for _, name := range []string{"content-usage", "content-signal", "link", "tdm-reservation", "x-robots-tag"} {
			c.Response.Fields[name] = []string{field}
		}
		x := c.cross(t)
		x.againIsTheSame(t)
		if x.Refused() != (x.Reason != "") || x.Refused() && (x.Told.String() == "" || x.Detail == "" || x.Outcome == rulings.Undecided) {
			t.Errorf("%+v", x.Ruling)
		}
		c.restored = true
		if again := c.cross(t); !reflect.DeepEqual(again.Ruling, x.Ruling) {
			t.Errorf("from what is kept of the answer:\n%+v\n%+v", x.Ruling, again.Ruling)
		}
	})
}

// FuzzParseHeadT118 holds that what is read back as the head of an answer is kept as
// the same octets (T118).
func FuzzParseHeadT118(f *testing.F) {
	seeds := []string{"", "link: <x>\n", "content-usage: ai-use=n\ncontent-usage: \nlink: a\nlink: b\ncontent-type: text/html\n", "link: x", "Link: x\n", "cookie: x\n", "link: x\ncontent-usage: y\n"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(200, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, octets []byte) {
		if r, err := rulings.ParseHead(status, octets); err == nil && (r.Status != status || !bytes.Equal(r.Octets(), octets)) {
			t.Errorf("%q became %q", octets, r.Octets())
		}
	})
}
