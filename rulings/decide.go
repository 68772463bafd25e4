package rulings

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A Request is what a decision needs to know of an agent's request.
type Request struct {
	Method    string
	Origin    hostkey.Origin
	Target    string // path and query exactly as sent
	UserAgent string // the agent's own field, as received
	User      string // the proxy user name, which is the session; empty for none

	// Spending names, in lower case, the fields of the request that spend or
	// accept terms (T105). Their values are never looked at here.
	Spending []string

	// Purposes are ruled for in place of the policy's where they are set.
	Purposes []Purpose

	// All makes the decision go on behind what refuses, so that all of what the
	// source says is found, for telling it. The first refusal stays the outcome.
	All bool

	// Offline is set where nothing may be had from outside (O60).
	Offline bool

	// Page is the readings of Target. Nil makes Decide compute them.
	Page *robots.Page
}

// A decision is the state of one Decide: the stages of T8, in order, add to its
// ruling what they find, and the first that ends the work sets the outcome.
type decision struct {
	req      *Request
	terms    *Terms
	policy   *Policy
	page     *robots.Page
	purposes []Purpose
	stage    Stage
	ruling   Ruling

	selection robots.Selection // what of robots.txt binds our tokens and the agent's name
	document  bool             // the request is for a licence that robots.txt names (T11)
	named     []string         // URLs of the licences named so far, each once
	offers    []offer          // of the licences that govern the page
}

// Decide rules one request before it is sent, and, when terms has a Response,
// the answer to it (specs: terms T5, T8). The same arguments give the same ruling
// on any machine at any time. A nil policy is one that did not load and refuses
// everything.
//
// A ruling that hangs on terms that were not looked up is undecided and names
// them in Needs; the caller looks them up and decides again.
func Decide(req Request, terms Terms, policy *Policy) Ruling {
	if policy == nil {
		return refuse(PolicyUnavailable, time.Time{}, "the operator's policy does not load",
			Say("The operator's policy could not be loaded, so nothing is let through."))
	}
	d := decision{req: &req, terms: &terms, policy: policy, page: req.Page, purposes: req.Purposes, stage: StageBefore}
	if d.page == nil {
		d.page = robots.NewPage(req.Target)
	}
	if len(d.purposes) == 0 {
		d.purposes = policy.Purposes
	}
	switch {
	case d.admission():
	case policy.Class(req.Origin.Host) == Service, terms.Robots.Exempt:
		d.proceed()
	case d.sourceTerms(), d.ruling.Reason != "":
		if d.ruling.Outcome != Undecided && !req.All {
			d.ruling.NotAsked = d.notAsked()
		}
	default:
		d.proceed()
	}
	return d.ruling
}

// admission rules what needs nothing of the source (O14, steps 1 and 2).
func (d *decision) admission() (ended bool) {
	return d.offline() || d.guarded() || d.spends() || d.hosts()
}

// Admits reports whether policy lets a request be made as far as it alone can say,
// so that terms of the source are asked for (O15). What it does not admit, Decide
// refuses.
func Admits(req *Request, policy *Policy) bool {
	if policy == nil || req.Offline && !policy.Inside(req.Origin) || !policy.Reachable(req.Origin) {
		return false
	}
	b, broken := policy.HostBreach(req.Origin.Host)
	return !broken || policy.Mode.Carries(b.Reason)
}

// proceed lets the request go, unless something refused that was to be told with
// all the rest.
func (d *decision) proceed() {
	if d.ruling.Reason == "" {
		d.ruling.Outcome = Proceed
	}
}

// sourceTerms takes the stages of the source's own terms, in the order of T8, and
// what licence the operator wants (O14), and reports whether one ended the work.
func (d *decision) sourceTerms() (ended bool) {
	if d.unknownPurpose() || d.robots() {
		return true
	}
	if d.document {
		return false // what states terms is not ruled by them (T11)
	}
	if d.robotsStatements() || d.robotsLicences() || d.reservation() {
		return true
	}
	r := d.terms.Response
	if r == nil {
		return d.requiredLicence(false)
	}
	d.stage = StageHead
	if !r.ruled() {
		return d.requiredLicence(true)
	}
	if d.head() {
		return true
	}
	if r.ReadsHTML(d.req.Method) {
		d.stage = StageBody
	}
	return d.html() || d.requiredLicence(true)
}

// guarded refuses addresses that are not public when the request names them as
// such; names are judged when they are dialled (N6, N18).
func (d *decision) guarded() bool {
	if d.policy.Reachable(d.req.Origin) {
		return false
	}
	d.ruling = RefuseAddress(d.req.Origin.Host)
	return true
}

// spends refuses what spends the operator's money or accepts terms in the
// operator's name without leave (T105).
func (d *decision) spends() bool {
	if len(d.req.Spending) == 0 || d.policy.MaySpend(d.req.User, d.req.Origin.Host) {
		return false
	}
	d.ruling = RefuseSpending(d.req.Spending, d.req.Origin.Host)
	return true
}

// RefuseSpending is the ruling on a request to host with fields, in its head or
// behind its body, by which its agent may not spend there (T105).
func RefuseSpending(fields []string, host string) Ruling {
	return refuse(SpendNotAllowed, time.Time{},
		fmt.Sprintf("the request carries %s, and policy.spend does not let this agent spend at %s", strings.Join(fields, ", "), host),
		Say("The request carries a field that spends or accepts terms, and the operator does not allow that here. Ask without it."))
}

// unknownPurpose keeps a purpose that no term speaks about from being one that
// nothing forbids.
func (d *decision) unknownPurpose() bool {
	for _, purpose := range d.purposes {
		if !purpose.Known() {
			d.ruling = CouldNotDecide(fmt.Sprintf("%q is no purpose", string(purpose)))
			return true
		}
	}
	return false
}

// Reachable reports whether the policy lets the edge ask o for anything. A host
// written as an address that is not public is not asked (T17).
func (p *Policy) Reachable(o hostkey.Origin) bool {
	addr, ok := o.Addr()
	return !ok || p.AllowsAddr(o.Host, addr)
}

// RefuseAddress is the ruling on a host whose address the guard does not let
// through. The agent is not told the address: it may be internal.
func RefuseAddress(host string) Ruling {
	return refuse(PrivateAddress, time.Time{},
		fmt.Sprintf("%s is or resolves to an address that is not public, and policy.allow_private does not list it", host),
		Say("The address of this host is not public and the operator's policy does not list it."))
}

// CouldNotDecide is the ruling after an error while deciding (503). Why goes
// into the record only.
func CouldNotDecide(why string) Ruling {
	return refuse(UndecidedReason, time.Time{}, "could not decide: "+why, Say("The edge could not decide this request. Ask again."))
}

func refuse(reason Reason, retryAt time.Time, detail string, told Words) Ruling {
	return Ruling{Outcome: Refuse, Reason: reason, Stage: StageBefore, Detail: detail, Told: told, RetryAt: retryAt}
}

// refuse ends the work: refused before the request, withheld after it. What was
// found so far stays in the ruling. Where all is to be found, the work goes on.
func (d *decision) refuse(reason Reason, retryAt time.Time, detail string, told Words) (ended bool) {
	r := &d.ruling
	if r.Reason != "" {
		return false // only where all is to be found: the first one stays
	}
	r.Outcome, r.Reason, r.Stage, r.Detail, r.Told, r.RetryAt = Refuse, reason, d.stage, detail, told, retryAt
	if d.stage != StageBefore {
		r.Outcome = Withhold
	}
	return !d.req.All
}

// bar refuses for what kept the edge from asking for a term. Where that was the
// host's pace, pacing says in its own words when to ask again.
func (d *decision) bar(reason Reason, pace PaceTerms, detail string, told Words) (ended bool) {
	ended = d.refuse(reason, pace.RetryAt, detail, cmp.Or(pace.Told, told))
	d.ruling.RetryAfter = pace.RetryAfter
	return ended
}

// need ends the work for want of terms: undecided until they are looked up.
func (d *decision) need(needs ...Need) bool {
	why := CouldNotDecide("a term was not looked up: " + string(needs[0].Kind))
	d.ruling.Reason = "" // an earlier refusal, where all is to be found, is met again
	d.refuse(why.Reason, why.RetryAt, why.Detail, why.Told)
	d.ruling.Outcome, d.ruling.Needs = Undecided, needs
	return true
}

// point says which term refuses which purpose, for the refusal that follows.
func (d *decision) point(purpose Purpose, term TermRef) {
	if d.ruling.Reason == "" {
		d.ruling.Purpose, d.ruling.Term = purpose, term
	}
}

func (d *decision) gap(reason, detail string) {
	d.ruling.Gaps = append(d.ruling.Gaps, Gap{reason, detail})
}

// state adds a statement and what it says to the pool.
func (d *decision) state(s Statement) {
	if d.ruling.Statements == nil {
		d.ruling.Statements = make([]Statement, 0, 4) // few pages have more
	}
	d.ruling.Statements = append(d.ruling.Statements, s)
	d.pool(s.Says)
}

// pool adds what a term says of the declared purposes (T107).
func (d *decision) pool(says Preferences) {
	for _, purpose := range d.purposes {
		i := purpose.index()
		d.ruling.Effective[i] = max(d.ruling.Effective[i], says[i])
	}
}

// ruleStatements refuses the first declared purpose that a statement added since
// from forbids (T9).
func (d *decision) ruleStatements(from int) bool {
	for _, purpose := range d.purposes {
		for i := range d.ruling.Statements[from:] {
			s := &d.ruling.Statements[from+i]
			if s.Says.For(purpose) == Disallow {
				return d.refuseStatement(s, purpose)
			}
		}
	}
	return false
}

func (d *decision) refuseStatement(s *Statement, purpose Purpose) bool {
	where, told := "the answer", Say("The site's answer does not allow the purpose % (%). The page was not released.", purpose, s.Source)
	if s.Line > 0 {
		where = fmt.Sprintf("line %d of robots.txt", s.Line)
		told = Say("The site's robots.txt does not allow the purpose % for this page (%, line %).", purpose, s.Source, Number(s.Line))
	} else if d.stage == StageBefore {
		where = "tdmrep.json"
		told = Say("The site reserves this page against the purpose % (%).", purpose, s.Source)
	}
	d.point(purpose, TermRef{Object: s.Object, Line: s.Line})
	return d.refuse(s.Source.reason(), time.Time{}, fmt.Sprintf("%s of %s forbids %s by %s: %s", where, d.req.Origin, purpose, s.Source, s.Category), told)
}
