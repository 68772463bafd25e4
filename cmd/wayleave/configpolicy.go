package main

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // an allowance's time zone is known on every machine

	"github.com/wayleave/wayleave/rulings"
)

// policyKeys are the keys of the section policy. What their values must be beyond
// their shape, rulings.NewPolicy judges.
var policyKeys = []configKey{
	{"policy.mode", oneWord("observe", "prefer", "strict"), "observe", "what comes of a breach of this section: observe carries it, prefer tells the agent of it, too, strict refuses",
		func(c *config, v []string) error { c.policyFile.Mode = v[0]; return nil }},
	{"policy.purposes", listOf("ai-input", "ai-train", "ai-index", "search"), "ai-input", "what agents do with pages, so what terms are ruled for: of ai-input, ai-train, ai-index, search",
		func(c *config, v []string) error { c.policyFile.Purposes = v; return nil }},
	{"policy.identity.product_token", oneOrMany, "wayleave", "names ruled for in robots.txt; the first is the edge's own",
		func(c *config, v []string) error { return setFilled(&c.policyFile.Identity.ProductToken, v) }},
	{"policy.identity.user_agent", oneWord("keep", "append", "replace"), "append", "what becomes of the agent's User-Agent at sources: keep, append or replace",
		func(c *config, v []string) error { c.policyFile.Identity.UserAgent = v[0]; return nil }},
	{"policy.identity.contact", aText, "", "URL or mail address added to the edge's part of User-Agent",
		func(c *config, v []string) error { c.policyFile.Identity.Contact = v[0]; return nil }},
	{"policy.hosts.deny", aFilledList, "", "host patterns that nothing passes",
		func(c *config, v []string) error { c.policyFile.Hosts.Deny = v; return nil }},
	{"policy.hosts.allow", aFilledList, "", "host patterns that are all that passes",
		func(c *config, v []string) error { c.policyFile.Hosts.Allow = v; return nil }},
	{"policy.hosts.rules", recordsOf(hostRuleMembers...), "", "rules for hosts, of which the first that matches decides: mappings {host, action, licence}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Hosts.Rules, v) }},
	{"policy.required_licence", aList, "", "URLs of licences or standards, one of which must govern a source",
		func(c *config, v []string) error { c.policyFile.RequiredLicence = v; return nil }},
	{"policy.services", someServices, "", "hosts that are not sources: no source terms are ruled for them; hosts, or mappings {host, pace, price, charge_header}",
		func(c *config, v []string) error { return c.setServices(v) }},
	{"policy.tunnels", aList, "", "hosts that are passed through unread; each must be covered by policy.services",
		func(c *config, v []string) error { c.policyFile.Tunnels = v; return nil }},
	{"policy.allow_private", aList, "", "hosts and CIDR prefixes that may be reached though they are not public",
		func(c *config, v []string) error { c.policyFile.AllowPrivate = v; return nil }},
	{"policy.spend", recordsOf(spendMembers...), "", "who may send fields that spend, and where: mappings {user, hosts}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Spend, v) }},
	{"policy.terms.user_classes", aList, "", "what the operator is, as licences call it, such as commercial",
		func(c *config, v []string) error { c.policyFile.Terms.UserClasses = v; return nil }},
	{"policy.terms.country", aText, "", "where the operator is, in two capitals such as DE",
		func(c *config, v []string) error { c.policyFile.Terms.Country = v[0]; return nil }},
	{"policy.terms.reporting", recordsOf(reportingMembers...), "", "reporting that the operator does: mappings {profile, hosts}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Terms.Reporting, v) }},
	{"policy.terms.agreements", recordsOf(agreementMembers...), "", "agreements with hosts: mappings {host, reference, reporting}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Terms.Agreements, v) }},
	{"policy.terms.tdm_binds_ai_input", aBool, "false", "let a TDM reservation refuse ai-input, too",
		func(c *config, v []string) error { return setBool(&c.policyFile.Terms.TDMBindsAIInput, v[0]) }},
	{"policy.allowances", recordsOf(allowanceMembers...), "", "what crossings to priced services may cost: mappings {name, user, period, amount, currency, timezone}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Allowances, v) }},
	{"policy.caps.body_bytes", aSize, "", "the longest body of a source, after content coding",
		func(c *config, v []string) error { return setSize(&c.policyFile.Caps.BodyBytes, v[0], 1) }},
	{"policy.caps.context_bytes", aSize, "", "what the bodies of a session's sources may add up to",
		func(c *config, v []string) error { return setSize(&c.policyFile.Caps.ContextBytes, v[0], 1) }},
	{"policy.screens.injection", onOff, "off", "look for text that gives orders to a model",
		func(c *config, v []string) error { c.policyFile.Screens.Injection = v[0]; return nil }},
	{"policy.screens.pii", onOff, "off", "look for personal data",
		func(c *config, v []string) error { c.policyFile.Screens.PII = v[0]; return nil }},
	{"policy.screens.extract", onOff, "off", "deliver the text of HTML pages in place of the pages",
		func(c *config, v []string) error { c.policyFile.Screens.Extract = v[0]; return nil }},
	{"policy.screens.limit_bytes", aSize, "2MiB", "the longest body that screens read",
		func(c *config, v []string) error { return setSize(&c.policyFile.Screens.LimitBytes, v[0], 1) }},
	{"policy.screens.scope", oneWord("sources", "all"), "sources", "whose bodies are screened: those of sources, or all",
		func(c *config, v []string) error { c.policyFile.Screens.Scope = v[0]; return nil }},
	{"policy.screens.exempt", aList, "", "media types that are not screened",
		func(c *config, v []string) error { c.policyFile.Screens.Exempt = v; return nil }},
	{"policy.sessions", recordsOf(sessionMembers...), "", "what holds for some proxy users in place of the rest (needs auth: token): mappings {user, mode, purposes, hosts, required_licence, caps, screens}",
		func(c *config, v []string) error { return setRecords(&c.policyFile.Sessions, v) }},
}

// Members of the mappings in lists. They are the JSON names of the types that the
// set functions fill.
var (
	hostRuleMembers = []member{
		{name: "host", shape: aText, doc: "host pattern"},
		{name: "action", shape: oneWord("allow", "refuse", "require_licence"), doc: "allow passes hosts.allow, refuse is a breach, require_licence passes hosts.allow and needs the licence"},
		{name: "licence", shape: aText, optional: true, doc: "URL of the licence or standard, with require_licence alone"},
	}
	someServices = shape{form: formRecords, short: "host", members: []member{
		{name: "host", shape: aText, doc: "host pattern; neither * nor all of a public suffix"},
		{name: "pace", shape: aBool, optional: true, doc: "keep the pace of the host as that of a source"},
		{name: "price", shape: mappingOf(
			member{name: "amount", shape: anAmount, doc: "decimal string of at most 12 digits before and 6 behind the point"},
			member{name: "currency", shape: aText, doc: "three capitals"},
		).or("reported", "unknown"), optional: true, doc: "what a request costs; reported: what charge_header of the answer says; none: nothing"},
		{name: "charge_header", shape: aText, optional: true, doc: "field of an answer that says what it cost"},
	}}
	spendMembers = []member{
		{name: "user", shape: aText, doc: "proxy user name, or its beginning and *"},
		{name: "hosts", shape: aFilledList, doc: "host patterns"},
	}
	reportingMembers = []member{
		{name: "profile", shape: aText, doc: "URL of the profile"},
		{name: "hosts", shape: aFilledList, doc: "host patterns"},
	}
	agreementMembers = []member{
		{name: "host", shape: aText, doc: "host pattern"},
		{name: "reference", shape: aText, doc: "where the agreement is to be found"},
		{name: "reporting", shape: aText, optional: true, doc: "URL of the reporting profile that it demands"},
	}
	allowanceMembers = []member{
		{name: "name", shape: aText, doc: "of the allowance and of its ledger; letters, digits, _, - and ."},
		{name: "user", shape: aText, doc: "proxy user name, or its beginning and *"},
		{name: "period", shape: oneWord("day", "month"), doc: "after which the amount is there again"},
		{name: "amount", shape: anAmount, doc: "decimal string of at most 12 digits before and 6 behind the point"},
		{name: "currency", shape: aText, doc: "three capitals"},
		{name: "timezone", shape: aText, optional: true, doc: "of the IANA database, in which periods begin; UTC when left out"},
	}
	sessionMembers = []member{
		{name: "user", shape: aText, doc: "proxy user name, or its beginning and *"},
		{name: "mode", shape: like("policy.mode"), optional: true, doc: "in place of policy.mode"},
		{name: "purposes", shape: like("policy.purposes"), optional: true, doc: "in place of policy.purposes"},
		{name: "hosts", shape: like("policy.hosts"), optional: true, doc: "in place of all of policy.hosts"},
		{name: "required_licence", shape: like("policy.required_licence"), optional: true, doc: "in place of policy.required_licence"},
		{name: "caps", shape: like("policy.caps"), optional: true, doc: "in place of all of policy.caps"},
		{name: "screens", shape: like("policy.screens"), optional: true, doc: "in place of all of policy.screens"},
	}
)

// setServices parts each host from what is said of it.
func (c *config) setServices(values []string) error {
	var items []struct {
		Host string
		rulings.ServiceFile
	}
	if err := setRecords(&items, values); err != nil {
		return err
	}
	c.policyFile.Services, c.policyFile.ServiceTerms = nil, nil
	for _, item := range items {
		c.policyFile.Services = append(c.policyFile.Services, item.Host)
		c.policyFile.ServiceTerms = append(c.policyFile.ServiceTerms, item.ServiceFile)
	}
	return nil
}

// checkSessions refuses overlays where any user name is taken (O6): one that
// nobody checked must not choose the rules.
func (c *config) checkSessions() faults {
	if len(c.policyFile.Sessions) == 0 || c.auth == authToken {
		return nil
	}
	return faults{{c.place("policy.sessions"), "policy.sessions", fmt.Sprintf("needs auth: token, but auth is %s (%s), so anybody could choose the rules by a name", c.auth, c.writtenAt["auth"]), false}}
}

// checkPolicy makes the effective policy. What is judged is the section as all
// layers together make it, since a tunnel listed by one may be covered by a
// service of another.
func (c *config) checkPolicy() faults {
	policy, problems := rulings.NewPolicy(c.policyFile)
	c.policy = policy
	var found faults
	for _, p := range problems {
		key := c.asWritten("policy." + p.Key)
		found = append(found, fault{c.place(key), key, p.Problem, true})
	}
	for i, a := range c.policyFile.Allowances {
		key := fmt.Sprintf("policy.allowances[%d].timezone", i)
		if _, err := time.LoadLocation(a.Timezone); err != nil && !found.under(key) {
			found = append(found, fault{c.place(key), key, fmt.Sprintf("%q is no time zone; use one of the IANA database, such as Europe/Berlin", a.Timezone), true})
		}
	}
	return found
}

// asWritten returns the key under which the value of a key stands: an item may be
// a mapping or its host alone, and a list's one item may stand without brackets.
func (c *config) asWritten(key string) string {
	if _, ok := c.policyAt[key+".host"]; ok {
		return key + ".host"
	}
	if _, ok := c.policyAt[key]; !ok {
		return strings.TrimSuffix(key, "[0]")
	}
	return key
}

// place returns where a value of the policy was written, or else the nearest
// that it is in.
func (c *config) place(key string) position {
	for {
		at, ok := c.policyAt[key]
		if ok {
			return at
		}
		end := strings.LastIndexAny(key, ".[")
		if end < 0 {
			return position{source: "default"} // nobody wrote any of it
		}
		key = key[:end]
	}
}
