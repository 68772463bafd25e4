package rulings_test

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// T105: what spends is refused unless the policy lets this agent spend at this
// host, before anything else is asked, at services too.
func TestT105WhoMaySpendWhereIsThePolicys(t *testing.T) {
	spend := []rulings.SpendFile{
		{User: "buyer", Hosts: []string{"site.test"}},
		{User: "team-*", Hosts: []string{"*.shop.test"}},
		{User: "*", Hosts: []string{"open.test"}},
	}
	for _, tt := range []struct {
		name, user, host string
		refused          bool
	}{
		{"the agent that is named, at the host that is", "buyer", "site.test", false},
		{"another agent", "seller", "site.test", true},
		{"one that only begins alike", "buyer2", "site.test", true},
		{"in another letter case", "Buyer", "site.test", true},
		{"at another host", "buyer", "www.site.test", true},
		{"an agent of a group, below a name", "team-7", "a.shop.test", false},
		{"at the name itself", "team-", "shop.test", false},
		{"at a name that only ends alike", "team-7", "workshop.test", true},
		{"every agent", "x", "open.test", false},
		{"an agent without a name is one of all", "", "open.test", false},
		{"and none of those that have one", "", "a.shop.test", true},
		{"nor the one that is named", "", "site.test", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := crossing{Page: "https://" + tt.host + "/page", Policy: rulings.PolicyFile{Spend: spend}}
			c.Request.User = tt.user
			if x := c.cross(t); x.Refused() {
				t.Errorf("it spends nothing: %+v", x.Ruling)
			}
			c.Request.Spending = []string{"authorization", "x-payment"}
			for _, services := range [][]string{nil, {tt.host}} {
				c.Policy.Services = services
				x := c.cross(t)
				if x.Refused() != tt.refused {
					t.Errorf("services %v: %+v", services, x.Ruling)
				}
				if !tt.refused {
					continue
				}
				x.comesTo(t, rulings.SpendNotAllowed, rulings.StageBefore, "")
				if x.asked != nil || x.WhoseTerm() != rulings.WhoseOperator || !strings.Contains(x.Detail, "authorization, x-payment") {
					t.Errorf("asked for %v, %s of %s", x.asked, x.Detail, x.WhoseTerm())
				}
			}
		})
	}
}

// T105 comes behind the address guard and before the source's terms (T8).
func TestT8T105SpendingIsRuledBehindTheGuardAndBeforeTheTerms(t *testing.T) {
	req := get("/page")
	req.Spending = []string{"x-payment"}
	for _, body := range []string{"", "User-agent: *\nDisallow: /\n"} {
		if r := rulings.Decide(req, read(body), rulings.DefaultPolicy()); r.Reason != rulings.SpendNotAllowed || r.Robots != nil {
			t.Errorf("%+v", r)
		}
	}
	if r := rulings.Decide(req, rulings.Terms{}, rulings.DefaultPolicy()); r.Reason != rulings.SpendNotAllowed || r.Needs != nil {
		t.Errorf("nothing is looked up for it: %+v", r)
	}
	req.Origin.Host = "127.0.0.1"
	if r := rulings.Decide(req, rulings.Terms{}, rulings.DefaultPolicy()); r.Reason != rulings.PrivateAddress {
		t.Errorf("%+v", r)
	}
}
