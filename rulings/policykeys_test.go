package rulings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/rulings"
)

// wholeFile is a policy with every key in it.
func wholeFile() rulings.PolicyFile {
	return rulings.PolicyFile{
		Mode: "strict", Purposes: []string{"search"},
		Identity: rulings.IdentityFile{ProductToken: []string{"one"}, UserAgent: "keep", Contact: "https://a.example/"},
		Hosts: rulings.HostsFile{
			Deny: []string{"z.example", "*.D.example"}, Allow: []string{"*"},
			Rules: []rulings.HostRuleFile{
				{Host: "*.r.example", Action: "require_licence", Licence: "HTTPS://Lic.example:443"},
				{Host: "r.example", Action: "refuse"}, {Host: "ok.example", Action: "allow"},
			},
		},
		RequiredLicence: []string{"https://std.example/by/4.0", "https://lic.example/a#part"},
		Services:        []string{"plain.example", "paid.example", "told.example", "vague.example"},
		ServiceTerms: []rulings.ServiceFile{
			{}, {Pace: true, Price: rulings.PriceFile{Amount: "0.020", Currency: "USD"}},
			{Price: rulings.PriceFile{Word: "reported"}, ChargeHeader: "X-Charge&More"}, {Price: rulings.PriceFile{Word: "unknown"}},
		},
		Tunnels: []string{"plain.example"}, AllowPrivate: []string{"10.0.0.0/8"},
		Spend: []rulings.SpendFile{{User: "a*", Hosts: []string{"s.example"}}},
		Terms: rulings.OperatorFile{Agreements: []rulings.AgreementFile{{Host: "a.example", Reference: `\u2028 & <7> ` + "\u2028\u2029"}}},
		Allowances: []rulings.AllowanceFile{
			{Name: "team", User: "*", Period: "month", Amount: "250.00", Currency: "USD", Timezone: "Europe/Berlin"},
			{Name: "one", User: "one", Period: "day", Amount: "0", Currency: "EUR"},
		},
		Caps:    rulings.CapsFile{BodyBytes: 8 << 20, ContextBytes: 10_000},
		Screens: rulings.ScreensFile{Injection: "on", PII: "on", Extract: "on", LimitBytes: 1 << 20, Scope: "all", Exempt: []string{"Text/CSS", "text/css", "image/png"}},
		Sessions: []rulings.SessionFile{
			{User: "ci-7", Mode: "observe"},
			{User: "ci-*", Purposes: []string{"ai-train"}, Hosts: &rulings.HostsFile{Deny: []string{"docs.example"}}, RequiredLicence: []string{}, Caps: &rulings.CapsFile{}, Screens: &rulings.ScreensFile{PII: "on"}},
		},
	}
}

func TestO5ThePolicyWithEveryKeyHasThisForm(t *testing.T) {
	const want = `{"allow_private":["10.0.0.0/8"],` +
		`"allowances":[{"amount":"250","currency":"USD","name":"team","period":"month","timezone":"Europe/Berlin","user":"*"},{"amount":"0","currency":"EUR","name":"one","period":"day","timezone":"UTC","user":"one"}],` +
		`"caps":{"body_bytes":8388608,"context_bytes":10000},"format":"wayleave-policy/1",` +
		`"hosts":{"allow":["*"],"deny":["*.d.example","z.example"],"rules":[{"action":"require_licence","host":"*.r.example","licence":"https://lic.example/"},{"action":"refuse","host":"r.example"},{"action":"allow","host":"ok.example"}]},` +
		`"identity":{"contact":"https://a.example/","product_token":["one"],"user_agent":"keep"},"mode":"strict","purposes":["search"],` +
		`"required_licence":["https://lic.example/a","https://std.example/by/4.0"],` +
		`"screens":{"exempt":["image/png","text/css"],"extract":"on","injection":"on","limit_bytes":1048576,"pii":"on","scope":"all"},` +
		`"services":[{"host":"paid.example","pace":true,"price":{"amount":"0.02","currency":"USD"}},"plain.example",{"charge_header":"x-charge&more","host":"told.example","price":"reported"},{"host":"vague.example","price":"unknown"}],` +
		`"spend":[{"hosts":["s.example"],"user":"a*"}],` +
		`"terms":{"agreements":[{"host":"a.example","reference":"\\u2028 & <7> ` + "\u2028\u2029" + `"}],"reporting":[],"tdm_binds_ai_input":false,"user_classes":[]},"tunnels":["plain.example"]}`
	p := policy(t, wholeFile())
	if diff := cmp.Diff(want, string(p.Canonical())); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
	var v any
	if err := json.Unmarshal(p.Canonical(), &v); err != nil {
		t.Fatal(err)
	}
}

func TestO5EachKeyChangesTheDigest(t *testing.T) {
	before := policy(t, wholeFile()).Digest()
	for name, change := range map[string]func(f *rulings.PolicyFile){
		"mode":           func(f *rulings.PolicyFile) { f.Mode = "prefer" },
		"deny":           func(f *rulings.PolicyFile) { f.Hosts.Deny = f.Hosts.Deny[:1] },
		"allow":          func(f *rulings.PolicyFile) { f.Hosts.Allow = nil },
		"order of rules": func(f *rulings.PolicyFile) { r := f.Hosts.Rules; r[0], r[1] = r[1], r[0] },
		"action":         func(f *rulings.PolicyFile) { f.Hosts.Rules[1].Action = "allow" },
		"licence":        func(f *rulings.PolicyFile) { f.Hosts.Rules[0].Licence += "/b" },
		"required":       func(f *rulings.PolicyFile) { f.RequiredLicence = nil },
		"pace":           func(f *rulings.PolicyFile) { f.ServiceTerms[0].Pace = true },
		"price":          func(f *rulings.PolicyFile) { f.ServiceTerms[1].Price.Amount = "0.021" },
		"currency":       func(f *rulings.PolicyFile) { f.ServiceTerms[1].Price.Currency = "EUR" },
		"kind of price":  func(f *rulings.PolicyFile) { f.ServiceTerms[2].Price.Word = "unknown" },
		"charge header":  func(f *rulings.PolicyFile) { f.ServiceTerms[2].ChargeHeader = "x-cost" },
		"allowance":      func(f *rulings.PolicyFile) { f.Allowances[0].Name = "teams" },
		"user":           func(f *rulings.PolicyFile) { f.Allowances[1].User = "two" },
		"period":         func(f *rulings.PolicyFile) { f.Allowances[0].Period = "day" },
		"amount":         func(f *rulings.PolicyFile) { f.Allowances[0].Amount = "250.000001" },
		"of currency":    func(f *rulings.PolicyFile) { f.Allowances[0].Currency = "NOK" },
		"time zone":      func(f *rulings.PolicyFile) { f.Allowances[0].Timezone = "" },
		"body cap":       func(f *rulings.PolicyFile) { f.Caps.BodyBytes = 0 },
		"context":        func(f *rulings.PolicyFile) { f.Caps.ContextBytes++ },
		"injection":      func(f *rulings.PolicyFile) { f.Screens.Injection = "off" },
		"pii":            func(f *rulings.PolicyFile) { f.Screens.PII = "" },
		"extract":        func(f *rulings.PolicyFile) { f.Screens.Extract = "off" },
		"limit":          func(f *rulings.PolicyFile) { f.Screens.LimitBytes = 0 },
		"scope":          func(f *rulings.PolicyFile) { f.Screens.Scope = "sources" },
		"exempt":         func(f *rulings.PolicyFile) { f.Screens.Exempt = nil },
	} {
		f := wholeFile()
		change(&f)
		if policy(t, f).Digest() == before {
			t.Errorf("%s: another policy has the same digest", name)
		}
	}
	f := wholeFile()
	f.Sessions = nil
	if policy(t, f).Digest() != before {
		t.Error("the overlays are part of the digest")
	}
}

func TestE82PoliciesAndOverlaysAreLoadedFromTheirForm(t *testing.T) {
	p := policy(t, wholeFile())
	for _, effective := range []*rulings.Policy{p, p.For("ci-7"), p.For("ci-8")} {
		got, err := rulings.LoadPolicy(effective.Canonical())
		if err != nil {
			t.Fatalf("%v: %s", err, effective.Canonical())
		}
		if got.Digest() != effective.Digest() || got.Mode != effective.Mode || got.Caps != effective.Caps {
			t.Errorf("it is not the same policy: %s", got.Canonical())
		}
		if diff := cmp.Diff(effective.Screens, got.Screens); diff != "" {
			t.Error(diff)
		}
	}
}

func TestO7ValuesThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *rulings.PolicyFile)
		want   []string
	}{
		"a mode":             {func(f *rulings.PolicyFile) { f.Mode = "Strict" }, []string{"mode"}},
		"empty lists":        {func(f *rulings.PolicyFile) { f.Hosts.Deny, f.Hosts.Allow = []string{}, []string{} }, []string{"hosts.deny", "hosts.allow"}},
		"patterns":           {func(f *rulings.PolicyFile) { f.Hosts.Deny[1], f.Hosts.Allow[0] = "a.*.b", "*a" }, []string{"hosts.deny[1]", "hosts.allow[0]"}},
		"a rule of nothing":  {func(f *rulings.PolicyFile) { f.Hosts.Rules[1] = rulings.HostRuleFile{} }, []string{"hosts.rules[1].host", "hosts.rules[1].action"}},
		"no licence":         {func(f *rulings.PolicyFile) { f.Hosts.Rules[0].Licence = "" }, []string{"hosts.rules[0].licence"}},
		"a needless licence": {func(f *rulings.PolicyFile) { f.Hosts.Rules[1].Licence = "https://a.example/" }, []string{"hosts.rules[1].licence"}},
		"licences": {
			func(f *rulings.PolicyFile) {
				f.RequiredLicence = []string{"", "by/4.0", "urn:cc:by", "https://u:p@a.example/", "https:///x"}
			},
			[]string{"required_licence[0]", "required_licence[1]", "required_licence[2]", "required_licence[3]", "required_licence[4]"},
		},
		"prices": {func(f *rulings.PolicyFile) {
			f.ServiceTerms[0].Price, f.ServiceTerms[1].Price = rulings.PriceFile{Word: "free"}, rulings.PriceFile{Amount: "-1", Currency: "usd"}
		}, []string{"services[0].price", "services[1].price.amount", "services[1].price.currency"}},
		"a charge that nothing names": {func(f *rulings.PolicyFile) { f.ServiceTerms[2].ChargeHeader = "" }, []string{"services[2].charge_header"}},
		"a charge of nothing":         {func(f *rulings.PolicyFile) { f.ServiceTerms[0].ChargeHeader = "x-charge" }, []string{"services[0].charge_header"}},
		"a field that is none":        {func(f *rulings.PolicyFile) { f.ServiceTerms[2].ChargeHeader = "x charge" }, []string{"services[2].charge_header"}},
		"one service in two ways":     {func(f *rulings.PolicyFile) { f.Services[2] = "PAID.example" }, []string{"services[2]"}},
		"allowances": {func(f *rulings.PolicyFile) {
			f.Allowances[0] = rulings.AllowanceFile{Name: "../x", User: "a*b", Period: "week", Amount: "1e3", Currency: "Dollar", Timezone: "../etc"}
		}, []string{"allowances[0].currency", "allowances[0].name", "allowances[0].user", "allowances[0].period", "allowances[0].amount", "allowances[0].timezone"}},
		"two of one ledger":   {func(f *rulings.PolicyFile) { f.Allowances[1].Name = "TEAM" }, []string{"allowances[1].name"}},
		"this machine's time": {func(f *rulings.PolicyFile) { f.Allowances[0].Timezone = "Local" }, []string{"allowances[0].timezone"}},
		"caps":                {func(f *rulings.PolicyFile) { f.Caps = rulings.CapsFile{BodyBytes: -1, ContextBytes: 1 << 53} }, []string{"caps.body_bytes", "caps.context_bytes"}},
		"screens": {func(f *rulings.PolicyFile) {
			f.Screens = rulings.ScreensFile{Injection: "true", PII: "ON", Extract: "yes", Scope: "both", LimitBytes: 256<<20 + 1}
		}, []string{"screens.injection", "screens.pii", "screens.extract", "screens.scope", "screens.limit_bytes"}},
		"media types": {
			func(f *rulings.PolicyFile) {
				f.Screens.Exempt = []string{"text", "image/*", "text/html; charset=x", ""}
			},
			[]string{"screens.exempt[0]", "screens.exempt[1]", "screens.exempt[2]", "screens.exempt[3]"},
		},
		"overlays": {func(f *rulings.PolicyFile) {
			f.Sessions[0] = rulings.SessionFile{Mode: "lax", Purposes: []string{}, Hosts: &rulings.HostsFile{Allow: []string{"ok.example", "a b"}}, RequiredLicence: []string{"x"}, Screens: &rulings.ScreensFile{Scope: "none"}}
		}, []string{"sessions[0].mode", "sessions[0].purposes", "sessions[0].hosts.allow[1]", "sessions[0].required_licence[0]", "sessions[0].screens.scope", "sessions[0].user"}},
	} {
		f := wholeFile()
		tt.change(&f)
		p, faults := rulings.NewPolicy(f)
		var keys []string
		for _, one := range faults {
			keys = append(keys, one.Key)
		}
		if diff := cmp.Diff(tt.want, keys); diff != "" || p != nil {
			t.Errorf("%s: faults (-want +got):\n%s%v", name, diff, faults)
		}
	}
}

func TestO14HostsAreTheFirstThatMatch(t *testing.T) {
	p := policy(t, wholeFile())
	again, err := rulings.LoadPolicy(p.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*rulings.Policy{"written": p, "loaded": again} {
		if pattern, at, denied := p.HostDenied("z.example"); pattern != "z.example" || at != 2 || !denied {
			t.Errorf("%s: denied by %s at %d: %v", name, pattern, at, denied)
		}
		if pattern, at, denied := p.HostDenied("a.d.example"); pattern != "*.d.example" || at != 1 || !denied {
			t.Errorf("%s: denied by %s at %d: %v", name, pattern, at, denied)
		}
		if _, _, denied := p.HostDenied("notd.example"); denied {
			t.Errorf("%s: a name that merely ends alike is denied", name)
		}
		want := rulings.HostRule{Host: "*.r.example", Action: rulings.HostRequireLicence, Licence: "https://lic.example/", Position: 1}
		if got, ok := p.HostRule("r.example"); !ok || got != want {
			t.Errorf("%s: the rule is %+v", name, got)
		}
		if got, ok := p.HostRule("ok.example"); !ok || got.Position != 3 {
			t.Errorf("%s: the rule is %+v", name, got)
		}
		if _, ok := p.HostRule("other.example"); ok || !p.HostAllowed("other.example") {
			t.Errorf("%s: a host that nothing names has a rule, or is not allowed", name)
		}
	}
	only := policy(t, rulings.PolicyFile{Hosts: rulings.HostsFile{Allow: []string{"*.a.example"}}})
	if !only.HostAllowed("b.a.example") || only.HostAllowed("b.example") || !rulings.DefaultPolicy().HostAllowed("b.example") {
		t.Error("the allow list is not what passes")
	}
}

func TestO8TheNarrowestServiceCounts(t *testing.T) {
	p := policy(t, rulings.PolicyFile{
		Services:     []string{"*.example.com", "a.example.com", "*.a.example.com", "*.b.example.com"},
		ServiceTerms: []rulings.ServiceFile{{Price: rulings.PriceFile{Word: "unknown"}}, {}, {Pace: true}},
	})
	for host, want := range map[string]rulings.ServiceTerms{
		"example.com":     {Host: "*.example.com"},
		"a.example.com":   {Host: "a.example.com", Price: rulings.Price{Kind: rulings.PriceFree}},
		"x.a.example.com": {Host: "*.a.example.com", Pace: true, Price: rulings.Price{Kind: rulings.PriceFree}},
		"b.example.com":   {Host: "*.b.example.com", Price: rulings.Price{Kind: rulings.PriceFree}},
	} {
		if got, ok := p.ServiceFor(host); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
		if p.Paced(host) != want.Pace {
			t.Errorf("%s: paced: %v", host, !want.Pace)
		}
	}
	if _, ok := p.ServiceFor("example.org"); ok {
		t.Error("a source has the terms of a service")
	}
	if !p.Paced("example.org") {
		t.Error("P3: a source is not paced")
	}
	if (rulings.Price{}).Kind != rulings.PriceUnknown {
		t.Error("O33: the zero value of a price is not unknown")
	}
}

func TestO30PricesAndAllowancesAreRead(t *testing.T) {
	p := policy(t, wholeFile())
	for host, want := range map[string]rulings.ServiceTerms{
		"paid.example":  {Host: "paid.example", Pace: true, Price: rulings.Price{Kind: rulings.PriceFixed, Amount: 20_000, Currency: "USD"}},
		"told.example":  {Host: "told.example", Price: rulings.Price{Kind: rulings.PriceReported}, ChargeHeader: "x-charge&more"},
		"vague.example": {Host: "vague.example"},
	} {
		if got, ok := p.ServiceFor(host); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
	var names []string
	for _, a := range p.AllowancesFor("one") {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"team", "one"}, names); diff != "" {
		t.Error(diff)
	}
	team := p.AllowancesFor("")
	if len(team) != 1 || team[0].Amount != 250*money.Unit || team[0].Period != rulings.PeriodMonth || team[0].Timezone != "Europe/Berlin" {
		t.Errorf("%+v", team)
	}
}

func TestO6TheFirstOverlayThatMatchesReplacesWhole(t *testing.T) {
	p := policy(t, wholeFile())
	if p.For("dev") != p || p.For("") != p || p.For("ci-7").For("ci-8") != p.For("ci-7") {
		t.Error("a policy without an overlay is not itself")
	}
	seven, eight := p.For("ci-7"), p.For("ci-8")
	if seven.Mode != rulings.ModeObserve || seven.Caps != p.Caps || seven.Digest() == p.Digest() {
		t.Errorf("ci-7: %s", seven.Canonical())
	}
	if _, _, denied := seven.HostDenied("z.example"); !denied {
		t.Error("ci-7: hosts are not the policy's")
	}
	if eight.Mode != rulings.ModeStrict || eight.Caps != (rulings.Caps{}) || len(eight.RequiredLicence) > 0 || eight.Purposes[0] != rulings.AITrain {
		t.Errorf("ci-8: %s", eight.Canonical())
	}
	if diff := cmp.Diff(rulings.Screens{PII: true, Limit: 2 << 20}, eight.Screens); diff != "" {
		t.Errorf("ci-8: screens are not replaced whole: %s", diff)
	}
	if _, _, denied := eight.HostDenied("z.example"); denied {
		t.Error("ci-8: hosts are merged")
	}
	if _, _, denied := eight.HostDenied("docs.example"); !denied {
		t.Error("ci-8: hosts are not the overlay's")
	}
	if eight.Class("paid.example") != rulings.Service || !eight.MaySpend("a", "s.example") {
		t.Error("ci-8: what no overlay can replace is gone")
	}
	if strings.Contains(string(eight.Canonical()), "sessions") || len(eight.Overlays()) > 0 || len(p.Overlays()) != 2 {
		t.Error("the overlays are part of what they make")
	}
	if n := testing.AllocsPerRun(100, func() { p.For("ci-8") }); n > 0 {
		t.Errorf("For allocates %v times", n)
	}
}

func TestO16URLsOfLicencesHaveOneSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		"https://lic.example":            "https://lic.example/",
		"HTTPS://Lic.Example.:443/a?b#c": "https://lic.example/a?b",
		"http://lic.example:8080/%7Ea":   "http://lic.example:8080/%7Ea",
		"https://bücher.example/by/4.0/": "https://xn--bcher-kva.example/by/4.0/",
		"https://[::ffff:192.0.2.1]/a":   "https://192.0.2.1/a",
		"":                               "",
		"/a":                             "",
		"ftp://lic.example/a":            "",
		"https:lic.example":              "",
		"https://user@lic.example/":      "",
		"https://lic.example/\x7f":       "",
		"https://lic.example:0/":         "",
		"https://":                       "",
	} {
		if got, ok := rulings.LicenceURL(raw); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", raw, got, ok, want)
		}
	}
}

// A spelling is its own spelling.
func FuzzLicenceURL(f *testing.F) {
	seeds := []string{"https://lic.example/a", "HTTP://A.example:80?x", "https://a//b/%2e%2E/#f", "https://[::1]:1/", "https://a/?", "https://a/\u00e9"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		spelling, ok := rulings.LicenceURL(raw)
		if !ok {
			return
		}
		if again, ok := rulings.LicenceURL(spelling); !ok || again != spelling {
			t.Errorf("%q is %q, which is %q, %v", raw, spelling, again, ok)
		}
	})
}
