package rsl_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/rulings/rsl"
)

var (
	allow   = rsl.Verdict{Outcome: rsl.Allow, Offer: 1}
	unknown = rsl.Verdict{}
)

func refused(reason string) rsl.Verdict { return rsl.Verdict{Outcome: rsl.Refuse, Reason: reason} }

// judgement is what of a verdict most tests look at.
func judgement(v rsl.Verdict) rsl.Verdict {
	j := rsl.Verdict{Outcome: v.Outcome, Reason: v.Reason}
	if v.Outcome == rsl.Allow {
		j.Offer = v.Offer
	}
	return j
}

func TestT85ToT87_Uses(t *testing.T) {
	prohibits, notListed := refused(rsl.ReasonProhibits), refused(rsl.ReasonNotListed)
	for _, tt := range []struct {
		name, licence, use string
		want               rsl.Verdict
	}{
		{"silent", ``, "ai-input", allow},
		{"permits U", `<permits>ai-input</permits>`, "ai-input", allow},
		{"permits ai-all", `<permits>ai-all</permits>`, "ai-train", allow},
		{"permits ai-all is not for search", `<permits>ai-all</permits>`, "search", notListed},
		{"permits all", `<permits>all</permits>`, "search", allow},
		{"permits something else", `<permits>search</permits>`, "ai-input", notListed},
		{"an empty list is closed", `<permits/>`, "ai-input", notListed},
		{"an empty type is a usage list too", `<permits type="">search</permits>`, "ai-input", notListed},
		{"prohibits U", `<prohibits>ai-input</prohibits>`, "ai-input", prohibits},
		{"prohibits all", `<prohibits>all</prohibits>`, "search", prohibits},
		{"prohibits ai-all is not for search", `<prohibits>ai-all</prohibits>`, "search", allow},
		{"prohibits something else", `<prohibits>ai-train</prohibits>`, "ai-input", allow},
		{"permits U beats prohibits all", `<permits>ai-input</permits><prohibits>all</prohibits>`, "ai-input", allow},
		{"permits ai-all beats prohibits all", `<permits>ai-all</permits><prohibits>all</prohibits>`, "ai-input", allow},
		{"permits U loses to prohibits ai-all", `<permits>ai-input</permits><prohibits>ai-all</prohibits>`, "ai-input", prohibits},
		{"permits U loses to prohibits U", `<permits>ai-input</permits><prohibits>ai-input</prohibits>`, "ai-input", prohibits},
		{"permits all loses to prohibits all", `<permits>all</permits><prohibits>all</prohibits>`, "ai-input", prohibits},
		{"permits all loses to prohibits U", `<permits>all</permits><prohibits>ai-input</prohibits>`, "ai-input", prohibits},
		{"whatever another licence permits", `<permits>ai-input</permits></license><license><prohibits>ai-input</prohibits>`, "ai-input", prohibits},
		{"whoever that licence is for", `<permits>ai-input</permits></license><license><permits type="geo">XX</permits><prohibits>ai-input</prohibits>`, "ai-input", prohibits},
		{"a silent licence is no offer beside one that names U", `<permits type="user">a</permits><permits>ai-input</permits></license><license>`, "ai-input", refused(rsl.ReasonRestricted)},

		{"0.9: train-ai in prohibits", `<prohibits>train-ai</prohibits>`, "ai-train", prohibits},
		{"0.9: train-genai in prohibits", `<prohibits>train-genai</prohibits>`, "ai-train", prohibits},
		{"0.9: ai-use in prohibits", `<prohibits>ai-use</prohibits>`, "ai-input", prohibits},
		{"0.9: ai-summarize in prohibits", `<prohibits>ai-summarize</prohibits>`, "ai-input", prohibits},
		{"0.9: in capitals", `<prohibits>AI-Summarize</prohibits>`, "ai-input", prohibits},
		{"0.9: for another use", `<prohibits>ai-use</prohibits>`, "ai-train", allow},
		{"0.9: never in permits", `<permits>train-ai ai-use</permits>`, "ai-train", notListed},
		{"a comma list in prohibits", `<prohibits>search,ai-input,,x</prohibits>`, "ai-input", prohibits},
		{"a comma list in permits", `<permits>ai-input,search</permits>`, "ai-input", notListed},
		{"capitals in prohibits", `<prohibits>ALL</prohibits>`, "search", prohibits},
		{"a letter whose lower case is ASCII", "<prohibits>a\u0130-input \u212A</prohibits>", "ai-input", allow},
		{"capitals in permits", `<permits>ALL</permits>`, "search", notListed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judgement(rule(t, licence(tt.licence), tt.use, rsl.Operator{}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT85_EveryProhibitingLicenceIsNamed(t *testing.T) {
	text := document(`<content url="/"><license/><license><prohibits>all</prohibits></license></content>` +
		`<content url="/"/><content url="/*"><license><prohibits>ai-all</prohibits></license></content>`)
	if diff := cmp.Diff([]int{2, 3}, rule(t, text, "ai-index", rsl.Operator{}).Prohibits); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestT87_WithoutALicenceNothingIsStated(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    rsl.Verdict
	}{
		"nothing":                   {`<content url="/"/>`, unknown},
		"a copyright alone":         {`<content url="/"><copyright/></content>`, unknown},
		"no entry for the page":     {`<content url="/other"><license/></content>`, unknown},
		"a server":                  {`<content url="/" server="https://s.example"/>`, refused(rsl.ReasonToken)},
		"a server without a name":   {`<content url="/" server=""/>`, unknown},
		"encrypted":                 {`<content url="/" encrypted="true" server="s"/>`, refused(rsl.ReasonEncrypted)},
		"a licence of one of two":   {`<content url="/"/><content url="/"><license/></content>`, allow},
		"a server of one of two":    {`<content url="/"><license/></content><content url="/" server="s"/>`, refused(rsl.ReasonToken)},
		"one of two encrypted":      {`<content url="/"><license/></content><content url="/" encrypted="true"/>`, refused(rsl.ReasonEncrypted)},
		"a server of a wider entry": {`<content url="/page"><license/></content><content url="/" server="s"/>`, allow},
	} {
		if diff := cmp.Diff(tt.want, judgement(rule(t, document(tt.content), "ai-input", rsl.Operator{}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestT88_Conditions(t *testing.T) {
	for _, tt := range []struct {
		name, conditions string
		op               rsl.Operator
		met              bool
	}{
		{"permits a class, undeclared", `<permits type="user">education</permits>`, rsl.Operator{}, false},
		{"permits a class that is declared", `<permits type="user">a education</permits>`, rsl.Operator{UserClasses: []string{"education"}}, true},
		{"permits a class in another case", `<permits type="user">Education</permits>`, rsl.Operator{UserClasses: []string{"education"}}, false},
		{"permits by comma list", `<permits type="user">education,b</permits>`, rsl.Operator{UserClasses: []string{"education"}}, false},
		{"permits nobody", `<permits type="user"/>`, rsl.Operator{UserClasses: []string{"education"}}, false},
		{"two lists are united", `<permits type="user">b</permits><permits type="user">a</permits>`, rsl.Operator{UserClasses: []string{"b"}}, true},
		{"prohibits a class, undeclared", `<prohibits type="user">commercial</prohibits>`, rsl.Operator{}, false},
		{"prohibits nobody, undeclared", `<prohibits type="user"/>`, rsl.Operator{}, false},
		{"prohibits another class", `<prohibits type="user">commercial</prohibits>`, rsl.Operator{UserClasses: []string{"education"}}, true},
		{"prohibits one of two declared", `<prohibits type="user">commercial</prohibits>`, rsl.Operator{UserClasses: []string{"education", "commercial"}}, false},
		{"prohibits in another case", `<prohibits type="user">COMMERCIAL</prohibits>`, rsl.Operator{UserClasses: []string{"commercial"}}, false},
		{"prohibits by comma list", `<prohibits type="user">a,commercial</prohibits>`, rsl.Operator{UserClasses: []string{"commercial"}}, false},
		{"permits and prohibits one", `<permits type="user">a</permits><prohibits type="user">a</prohibits>`, rsl.Operator{UserClasses: []string{"a"}}, false},
		{"a class is no country", `<permits type="geo">education</permits>`, rsl.Operator{UserClasses: []string{"education"}}, false},
		{"permits the country", `<permits type="geo">US FR</permits>`, rsl.Operator{Country: "FR"}, true},
		{"permits another country", `<permits type="geo">US</permits>`, rsl.Operator{Country: "FR"}, false},
		{"permits a country, undeclared", `<permits type="geo">US</permits>`, rsl.Operator{}, false},
		{"permits the EU", `<permits type="geo">EU</permits>`, rsl.Operator{Country: "GR"}, true},
		{"permits the EU, for another country", `<permits type="geo">EU</permits>`, rsl.Operator{Country: "CH"}, false},
		{"prohibits the EU", `<prohibits type="geo">EU</prohibits>`, rsl.Operator{Country: "SE"}, false},
		{"prohibits the EU, for another country", `<prohibits type="geo">EU</prohibits>`, rsl.Operator{Country: "GB"}, true},
		{"prohibits the country in lower case", `<prohibits type="geo">fr</prohibits>`, rsl.Operator{Country: "FR"}, false},
		{"both conditions met", `<permits type="geo">FR</permits><prohibits type="user">a</prohibits>`, rsl.Operator{UserClasses: []string{"b"}, Country: "FR"}, true},
		{"one of both", `<permits type="geo">FR</permits><prohibits type="user">a</prohibits>`, rsl.Operator{Country: "FR"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := rule(t, licence(tt.conditions), "ai-input", tt.op)
			want, restricted := allow, []int(nil)
			if !tt.met {
				want, restricted = refused(rsl.ReasonRestricted), []int{1}
			}
			if diff := cmp.Diff(want, judgement(v)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(restricted, v.Restricted); diff != "" {
				t.Errorf("restricted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestT88_AnotherOfferIsTaken(t *testing.T) {
	v := rule(t, licence(`<permits type="geo">US</permits></license><license>`), "ai-input", rsl.Operator{Country: "FR"})
	want := rsl.Verdict{Outcome: rsl.Allow, Offer: 2, Restricted: []int{1}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestT89_WhatIsFree(t *testing.T) {
	for _, tt := range []struct {
		payments string
		free     bool
	}{
		{``, true},
		{`<payment/>`, true},
		{`<payment>free</payment>`, true},
		{`<payment type="free"/>`, true},
		{`<payment type="free"><amount currency="USD">5</amount></payment>`, true},
		{`<payment type="attribution"><standard/></payment>`, true},
		{`<payment type="free"/><payment type="attribution"/><payment/>`, true},
		{`<payment><x:amount xmlns:x="u"/></payment>`, true},
		{`<payment><amount/></payment>`, false},
		{`<payment><standard/></payment>`, false},
		{`<payment><custom/></payment>`, false},
		{`<payment><accepts/></payment>`, false},
		{`<payment type=""/>`, false},
		{`<payment type="Free"/>`, false},
		{`<payment type=" free"/>`, false},
		{`<payment type="purchase"/>`, false},
		{`<payment type="crawl"><amount currency="USD">0</amount></payment>`, false},
		{`<payment type="inference"/>`, false},
		{`<payment type="royalty">free</payment>`, false},
		{`<payment type="free"/><payment type="training"/>`, false},
		{`<payment type="training"/><payment type="free"/>`, false},
	} {
		want := allow
		if !tt.free {
			want = refused(rsl.ReasonPayment)
		}
		if diff := cmp.Diff(want, judgement(rule(t, licence(tt.payments), "ai-input", rsl.Operator{}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.payments, diff)
		}
	}
}

func TestT90ToT93_TheOfferTaken(t *testing.T) {
	const (
		free  = `<payment type="free"/></license><license>`
		paid  = `<payment type="use"><amount currency="USD">1</amount></payment></license><license>`
		paid2 = `<payment type="crawl"/></license><license>`
		last  = `<permits>search</permits>` // no offer
	)
	report := `<reporting type="audit" profile="p"/>`
	p := rsl.Demand{Type: "audit", Profile: "p"}
	use := &rsl.Payment{Type: "use", Amount: "1", Currency: "USD"}
	for _, tt := range []struct {
		name, licences string
		op             rsl.Operator
		want           rsl.Verdict
	}{
		{"the first free one", paid + free + free + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Allow, Offer: 2}},
		{"else the first", paid + paid2 + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonPayment, Offer: 1, Payment: use}},
		{"the first payable payment is owed", `<payment type="free"/>` + paid + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonPayment, Offer: 1, Payment: use}},
		{"attribution is a duty", `<payment type="attribution"/><payment type="attribution"/>`, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Allow, Offer: 1, Duties: []string{"attribution"}}},
		{"a demand that is unmet", report + free + last, rsl.Operator{Reporting: []string{"q"}}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonReporting, Offer: 1, Reporting: []rsl.Demand{p}, Unmet: &p}},
		{"a demand that is met is a duty", report + `<payment type="attribution"/>`, rsl.Operator{Reporting: []string{"q", "p"}}, rsl.Verdict{Outcome: rsl.Allow, Offer: 1, Reporting: []rsl.Demand{p}, Duties: []string{"attribution", "reporting"}}},
		{"a demand without profile", `<reporting/>`, rsl.Operator{Reporting: []string{""}}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonReporting, Offer: 1, Reporting: []rsl.Demand{{}}, Unmet: &rsl.Demand{}}},
		{"the choice does not look at demands", report + free + free + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonReporting, Offer: 1, Reporting: []rsl.Demand{p}, Unmet: &p}},
		{"demands of another licence do not count", free + report + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Allow, Offer: 1}},
		{"a payment comes before a demand", report + paid + last, rsl.Operator{}, rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonPayment, Offer: 1, Payment: use, Reporting: []rsl.Demand{p}, Unmet: &p}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := rule(t, licence(tt.licences), "ai-input", tt.op)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(rsl.Payment{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT91_TheOrderOfWhatRefuses(t *testing.T) {
	const free, paid, demand = `<license/>`, `<license><payment type="use"/></license>`, `<license><reporting/></license>`
	for _, tt := range []struct{ attributes, licence, want string }{
		{`encrypted="true" server="s"`, paid, rsl.ReasonPayment},
		{`encrypted="true" server="s"`, demand, rsl.ReasonEncrypted},
		{`server="s"`, demand, rsl.ReasonToken},
		{`server="s"`, free, rsl.ReasonToken},
		{`server=""`, demand, rsl.ReasonReporting},
		{`encrypted="false"`, free, ""},
	} {
		v := rule(t, document(`<content url="/" `+tt.attributes+`>`+tt.licence+`</content>`), "ai-input", rsl.Operator{})
		if v.Reason != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.attributes, tt.licence, v.Reason, tt.want)
		}
	}
}

func TestT81_TheFirstServerIsNamed(t *testing.T) {
	v := rule(t, document(`<content url="/" server=""/><content url="/*" server="a"/><content url="/" server="b"/>`), "search", rsl.Operator{})
	if v.Server != "a" || v.Reason != rsl.ReasonToken {
		t.Errorf("%+v", v)
	}
}

func TestT84_TheStrictestSelectionHolds(t *testing.T) {
	const silent, free, banned = `<content url="/"/>`, `<content url="/"><license/></content>`, `<content url="/"><license><prohibits>all</prohibits></license></content>`
	d := parse(t, document(silent+free+banned))
	for name, tt := range map[string]struct {
		selection rsl.Selection
		want      rsl.Verdict
	}{
		"nothing governs":          {rsl.Selection{}, unknown},
		"one allows":               {rsl.Selection{Governs: [][]int{{1}}}, allow},
		"one says nothing":         {rsl.Selection{Governs: [][]int{{1}, {0}, {1}}}, unknown},
		"the last refuses":         {rsl.Selection{Governs: [][]int{{0}, {1}, {2}}}, refused(rsl.ReasonProhibits)},
		"unread, whatever governs": {rsl.Selection{Governs: [][]int{{1}}, Unread: rsl.UnreadBudget}, refused(rsl.ReasonUnread)},
	} {
		if diff := cmp.Diff(tt.want, judgement(d.RuleAll(tt.selection, "ai-input", rsl.Operator{}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestT3_TheZeroVerdictIsNoAllowance(t *testing.T) {
	if v := (rsl.Verdict{}); v.Outcome == rsl.Allow || v.Outcome.String() != "unknown" {
		t.Errorf("%+v", v)
	}
}
