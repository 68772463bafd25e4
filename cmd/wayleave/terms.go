package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

func (c *cli) termsCommand() *cobra.Command {
	var o struct {
		configFlags
		asJSON, raw bool
	}
	cmd := &cobra.Command{
		Use:   "terms HOST",
		Short: "Show what a host says of its terms, as served and as understood",
		Long: `Asks a host for its robots.txt, the licences that it names and its tdmrep.json,
as an edge with this configuration would, and shows what they say: raw and as
understood, for every purpose, and where they contradict each other. HOST may be
a URL; the terms shown are those of its page. What only a page's own answer says
is not known here, because no page is asked for.`,
		Args: oneArg("HOST"),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if o.asJSON && o.raw {
				return usage(errors.New("--json and --raw do not go together: --json names the documents by their digests"))
			}
			cfg, err := c.config(cmd, o.configFlags)
			if err != nil {
				return err
			}
			return c.terms(cmd.Context(), cfg, args[0], o.asJSON, o.raw)
		}),
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "print the documents as they were served, too")
	return cmd
}

// A hostTerms is what a host says, as --json prints it.
type hostTerms struct {
	URL       string             `json:"url"`
	Terms     []admin.Term       `json:"terms"`
	Groups    []groupTerms       `json:"groups,omitempty"` // of robots.txt, by token
	Stated    []admin.Statement  `json:"statements,omitempty"`
	Licences  []admin.Licence    `json:"licences,omitempty"`
	Effective map[string]string  `json:"effective"`
	Conflicts []string           `json:"conflicts,omitempty"`
	Gaps      []admin.Gap        `json:"gaps,omitempty"`
	Ruling    *admin.Explanation `json:"ruling,omitempty"` // for the declared purposes
}

// A groupTerms is what robots.txt says of fetching the page for one token.
type groupTerms struct {
	Token   string `json:"token"`
	Group   string `json:"group,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
	Allowed bool   `json:"allowed"`
}

func (c *cli) terms(ctx context.Context, cfg *config, host string, asJSON, raw bool) error {
	url := host
	if !strings.Contains(host, "://") {
		url = "https://" + host + "/"
	}
	origin, target, err := splitURL(url)
	if err != nil {
		return usage(err)
	}
	x, closeBook, err := openExplainer(cfg)
	if err != nil {
		return err
	}
	told, documents, err := x.tellTerms(ctx, origin, target)
	if err := errors.Join(err, closeBook(ctx)); err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(told)
	}
	fmt.Fprint(c.stdout, told.inWords())
	if raw {
		for _, d := range documents {
			fmt.Fprintf(c.stdout, "\n--- %s\n%s\n", d.url, strings.TrimSuffix(string(d.octets), "\n"))
		}
	}
	return nil
}

// A document is a term as it was served.
type document struct {
	url    string
	octets []byte
}

// tellTerms looks up all that origin says of target and tells it.
func (x explainer) tellTerms(ctx context.Context, origin hostkey.Origin, target string) (hostTerms, []document, error) {
	policy := x.policy()
	if policy == nil {
		return hostTerms{}, nil, errors.New("the policy does not load; wayleave serve says why")
	}
	req := rulings.Request{Method: http.MethodGet, Origin: origin, Target: target, Purposes: []rulings.Purpose{rulings.AIInput, rulings.AITrain, rulings.AIIndex, rulings.Search}, All: true}
	var known rulings.Terms
	all := x.book.Rule(ctx, req, &known, policy)
	said := explanation(req.Purposes, all, known)
	told := hostTerms{URL: origin.String() + target, Terms: said.Terms, Stated: said.Statements, Licences: said.Licences, Effective: said.Effective, Gaps: said.Gaps}
	for _, d := range all.Robots {
		told.Groups = append(told.Groups, groupTerms{d.Token, d.Group, d.Rule, d.Line, d.Allowed})
	}
	told.Conflicts = conflicts(all)
	req.Purposes, req.All = policy.Purposes, false
	ruling := explanation(req.Purposes, x.book.Rule(ctx, req, &known, policy), known)
	told.Ruling = &ruling
	return told, x.documents(known), nil
}

// documents reads back what the terms are made of.
func (x explainer) documents(known rulings.Terms) (list []document) {
	add := func(t rulings.Term) {
		if octets, err := x.book.Object(t.Object); err == nil {
			list = append(list, document{t.URL, octets})
		}
	}
	add(known.Robots.Term)
	for _, l := range known.Licences {
		add(l.Term)
	}
	if known.TDM != nil {
		add(known.TDM.Term)
	}
	return list
}

// conflicts names, for each purpose, the carriers that permit and those that
// forbid it. What forbids holds (T107).
func conflicts(r rulings.Ruling) (list []string) {
	for _, purpose := range []rulings.Purpose{rulings.AIInput, rulings.AITrain, rulings.AIIndex, rulings.Search} {
		var permit, forbid []string
		say := func(p rulings.Preference, carrier string) {
			switch p {
			case rulings.Allow:
				permit = append(permit, carrier)
			case rulings.Disallow:
				forbid = append(forbid, carrier)
			}
		}
		for i := range r.Statements {
			s := &r.Statements[i]
			say(s.Says.For(purpose), fmt.Sprintf("%s %s%s", s.Source, s.Category, atLine(s.Line)))
		}
		for i := range r.Licences {
			say(r.Licences[i].Says.For(purpose), fmt.Sprintf("licence %d", i+1))
		}
		if len(permit) > 0 && len(forbid) > 0 {
			list = append(list, fmt.Sprintf("%s: %s permits, %s forbids; what forbids holds", purpose, strings.Join(permit, ", "), strings.Join(forbid, ", ")))
		}
	}
	return list
}

// inWords tells the terms to a person.
func (t hostTerms) inWords() string {
	var b told
	b.line("terms of %s", t.URL)
	for _, term := range t.Terms {
		b.line("%s %s (%s, %s%s)", term.Kind, term.URL, found(term), term.Cache, since(term))
	}
	for _, g := range t.Groups {
		verb := "refuses"
		if g.Allowed {
			verb = "allows"
		}
		switch {
		case g.Line > 0:
			b.line("access: token %s, group %q: line %d %s: %s", g.Token, g.Group, g.Line, verb, g.Rule)
		case g.Group != "":
			b.line("access: token %s, group %q: no rule matches", g.Token, g.Group)
		default:
			b.line("access: token %s: no group names it", g.Token)
		}
	}
	b.stated(t.Stated, t.Licences)
	for _, p := range []rulings.Purpose{rulings.AIInput, rulings.AITrain, rulings.AIIndex, rulings.Search} {
		b.line("purpose %s: %s", p, t.Effective[string(p)])
	}
	for _, c := range t.Conflicts {
		b.line("conflict over %s", c)
	}
	b.unknown(t.Gaps)
	if t.Ruling != nil {
		b.line("ruling for %s: %s", strings.Join(t.Ruling.Purposes, ", "), outcomeInWords(*t.Ruling))
	}
	return b.String()
}
