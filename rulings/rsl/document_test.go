package rsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// remarks returns what a document is found not to say, in order.
func remarks(d *rsl.Document) (list []string) {
	for _, r := range d.NotUnderstood {
		list = append(list, string(r.Kind)+" "+r.Text)
	}
	return list
}

func TestT73_WhatIsUnknownOrMisplacedIsSkippedAndListed(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		listed     []string
	}{
		{"all that is known, where it belongs", document(`<content url="/"><schema/><copyright/><terms/><alternate/><license><permits/><prohibits/><payment>` +
			`<standard/><custom/><amount/><accepts/></payment><reporting/><legal/></license></content>`), nil},
		{"an unknown element at each level", document(`<a/><content url="/"><b/><license><c/><payment><d/></payment></license></content>`),
			[]string{"element a", "element b", "element c", "element d"}},
		{"a license outside content", document(`<license><prohibits>all</prohibits></license>` + entry), []string{"element license"}},
		{"a payment outside license", document(`<content url="/"><payment type="use"/></content>`), []string{"element payment"}},
		{"an amount outside payment", document(`<content url="/"><license><amount/></license></content>`), []string{"element amount"}},
		{"a content inside content", document(`<content url="/"><content/></content>`), []string{"element content"}},
		{"rsl inside rsl", document(entry + "<rsl>" + entry + "</rsl>"), []string{"element rsl"}},
		{"another letter case", document(entry + `<Content/>`), []string{"element Content"}},
		{"only the outermost of what is skipped", document(entry + `<a><b><content/></b></a>`), []string{"element a"}},
		{"an element in a list of words", document(`<content url="/"><license><permits>search<b/></permits></license></content>`), []string{"element b"}},
		{"an element in an amount", document(`<content url="/"><license><payment><amount>1<b/></amount></payment></license></content>`), []string{"element b"}},
		{"what reporting, legal and accepts contain is not looked into", document(`<content url="/"><license><reporting><a/></reporting>` +
			`<legal><a/></legal><payment><accepts><a/></accepts></payment></license></content>`), nil},
		{"what schema, copyright, terms and alternate contain is not either", document(`<content url="/"><schema><a/></schema><copyright><a/></copyright><terms><a/></terms><alternate><a/></alternate></content>`), nil},
		{"elements of other namespaces are skipped unlisted (T72)", document(entry + `<x:content xmlns:x="u"><content/></x:content><content xmlns=""/>`), nil},
		{"other types of lists (T75)", document(`<content url="/"><license><permits type="ai-train">no</permits><prohibits type="Usage">all</prohibits></license></content>`),
			[]string{"type ai-train", "type Usage"}},
		{"words that are not RSL 1.0's (T76)", document(`<content url="/"><license><permits>ai-use search,ai-input x:quote All</permits>` +
			`<prohibits>train-ai,train-genai AI-TRAIN ai-input</prohibits></license></content>`),
			[]string{"usage ai-use", "usage search,ai-input", "usage x:quote", "usage All", "usage train-ai,train-genai", "usage AI-TRAIN"}},
		{"user classes and countries are anybody's words", document(`<content url="/"><license><permits type="user">wizards</permits><permits type="geo">Atlantis</permits></license></content>`), nil},
		{"unknown types of payment", document(`<content url="/"><license><payment type="royalty"/><payment type="Free"/><payment type="inference"/><payment type=""/><payment/></license></content>`),
			[]string{"payment royalty", "payment Free", "payment "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, tt.text)
			if diff := cmp.Diff(tt.listed, remarks(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, r := range d.NotUnderstood {
				if at := tt.text[r.Offset:]; at[0] != '<' {
					t.Errorf("%q is said to stand at %.20q", r.Text, at)
				}
			}
		})
	}
}

func TestT73_WhatIsListedIsBounded(t *testing.T) {
	d := parse(t, document(entry+strings.Repeat("<a/>", 1000)))
	if len(d.NotUnderstood) != 64 || d.Omitted != 936 {
		t.Errorf("%d listed, %d omitted", len(d.NotUnderstood), d.Omitted)
	}
	d = parse(t, document(entry+"<x"+strings.Repeat("é", 500)+"/>"))
	if got, want := d.NotUnderstood[0].Text, "x"+strings.Repeat("é", 31); got != want {
		t.Errorf("a long name is listed as %q", got)
	}
}

func TestT72_AttributesCountUnprefixed(t *testing.T) {
	d := parse(t, `<r:rsl xmlns:r="https://rslstandard.org/rsl" r:max-age="1"><r:content r:url="/a" url="/b" r:server="s" unknown="1"/></r:rsl>`)
	if d.MaxAge != "" || d.Entries[0].URL != "/b" || d.Entries[0].Server != "" {
		t.Errorf("%+v", d)
	}
	if _, err := rsl.Parse([]byte(`<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content r:url="/a"/></r:rsl>`)); err == nil {
		t.Error("a prefixed url counts")
	}
}

func TestT74_Invalid(t *testing.T) {
	for _, tt := range []struct{ name, text, kind string }{
		{"no content at all", document(""), "no content element"},
		{"only elements of other namespaces", document(`<x:content xmlns:x="u" url="/"/>`), "no content element"},
		{"content only where it means nothing", document("<license>" + entry + "</license>"), "no content element"},
		{"a content without url", document(entry + `<content server="s"/>`), "content without url"},
		{"encrypted in capitals", document(`<content url="/" encrypted="TRUE"/>`), "encrypted that is neither true nor false"},
		{"encrypted and empty", document(`<content url="/" encrypted=""/>`), "encrypted that is neither true nor false"},
		{"the first fault is named", document(`<content/><content url="/" encrypted="1"/>`), "content without url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rsl.Parse([]byte(tt.text))
			f, ok := err.(*rsl.Fault)
			if !ok || f.Cause != rsl.CauseInvalid || f.Kind != tt.kind {
				t.Errorf("%v, want %s", err, tt.kind)
			}
		})
	}
	// What is skipped is not held to this.
	parse(t, document(entry+`<a><content/></a><x:content xmlns:x="u" encrypted="1"/>`))
}

func TestT71_ValuesAreWhatXMLMakesOfThem(t *testing.T) {
	d := parse(t, document("<content url='/a&amp;b&#x20;c&#10;\td\r\ne&apos;' server=' s '/>"))
	if got, want := d.Entries[0].URL, "/a&b c\n d e'"; got != want {
		t.Errorf("url %q, want %q", got, want)
	}
	if got := d.Entries[0].Server; got != " s " {
		t.Errorf("server %q", got)
	}
	for name, text := range map[string]string{
		"in one piece":                  "search ai-input",
		"in CDATA":                      "<![CDATA[search]]> <![CDATA[ai-input]]>",
		"in pieces that join":           "sea<![CDATA[rch ai]]>-input",
		"round comments that split":     "search ai<!-- x -->-<?y?>input",
		"with references":               "search&#32;ai&#45;input",
		"between line ends":             "\r\nsearch\rai-input\n\t",
		"between line ends of CDATA":    "<![CDATA[\r\nsearch\rai-input\n]]>",
		"round an element of no effect": "search <x:a xmlns:x='u'>all</x:a>ai-input",
	} {
		if v := rule(t, licence("<permits>"+text+"</permits><payment/>"), "ai-input", rsl.Operator{}); v.Outcome != rsl.Allow {
			t.Errorf("words %s: %+v", name, v)
		}
	}
	// Only XML's white space parts words.
	if v := rule(t, licence("<permits>search\u00a0ai-input</permits>"), "ai-input", rsl.Operator{}); v.Reason != rsl.ReasonNotListed {
		t.Errorf("words with a no-break space between: %+v", v)
	}
}

func TestT77_MaxAgeIsRecorded(t *testing.T) {
	d := parse(t, strings.Replace(document(entry), "<rsl", `<rsl max-age="7"`, 1))
	if d.MaxAge != "7" {
		t.Errorf("max-age %q", d.MaxAge)
	}
}

func TestT90_APriceIsADecimalWithACurrencyOrUnknown(t *testing.T) {
	for _, tt := range []struct{ name, amount, want string }{
		{"decimal", `<amount currency="USD">0.015</amount>`, "0.015 USD"},
		{"zero is a price", `<amount currency="EUR">0</amount>`, "0 EUR"},
		{"as written", `<amount currency="USD">010.50</amount>`, "010.50 USD"},
		{"white space round it", "<amount currency='USD'>\n 1 \n</amount>", "1 USD"},
		{"no amount", ``, " "},
		{"a comma", `<amount currency="USD">1,50</amount>`, " "},
		{"a sign", `<amount currency="USD">-1</amount>`, " "},
		{"an exponent", `<amount currency="USD">1e3</amount>`, " "},
		{"two points", `<amount currency="USD">1.0.0</amount>`, " "},
		{"a point alone", `<amount currency="USD">.</amount>`, " "},
		{"a word", `<amount currency="USD">free</amount>`, " "},
		{"nothing in it", `<amount currency="USD"/>`, " "},
		{"no currency", `<amount>1</amount>`, " "},
		{"a currency in words", `<amount currency="dollar">1</amount>`, " "},
		{"a currency that is no letters", `<amount currency="US$">1</amount>`, " "},
		{"two amounts", `<amount currency="USD">1</amount><amount currency="USD">2</amount>`, " "},
		{"a price in two payments is that of the first", `<amount currency="USD">1</amount></payment><payment type="use"><amount currency="USD">2</amount>`, "1 USD"},
		{"65 digits", `<amount currency="USD">` + strings.Repeat("1", 65) + `</amount>`, " "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := rule(t, licence(`<payment type="use">`+tt.amount+`</payment>`), "ai-input", rsl.Operator{})
			if v.Reason != rsl.ReasonPayment || v.Payment == nil {
				t.Fatalf("%+v", v)
			}
			if got := fmt.Sprint(v.Payment.Amount, " ", v.Payment.Currency); got != tt.want || v.Payment.Type != "use" {
				t.Errorf("price %q, want %q", got, tt.want)
			}
		})
	}
}

func TestT116_OnlyRSLsTypesOfPaymentAreKnown(t *testing.T) {
	for _, known := range []string{"purchase", "subscription", "training", "crawl", "use", "contribution", "attribution", "free", "inference"} {
		if p := (&rsl.Payment{Type: known}); !p.Known() {
			t.Errorf("%s is not known", known)
		}
	}
	for _, unknown := range []string{"", "royalty", "Use", "use "} {
		if p := (&rsl.Payment{Type: unknown}); p.Known() {
			t.Errorf("%q is known", unknown)
		}
	}
}
