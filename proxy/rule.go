package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// rule looks up the source's terms and decides (DESIGN section 2). A ruling is
// never reached by leaving something out: a lookup that did not happen leaves
// terms that refuse.
func (x *crossing) rule(ctx context.Context, r *http.Request) rulings.Ruling {
	x.rec.Spending = spending(r)
	x.known.Robots.Exempt = rulings.Exempt(x.origin, x.target) // also where money may be spent on it
	return x.decide(ctx, r)
}

// decide makes the ruling on what is known so far and what has to be looked up,
// and puts both into the record.
func (x *crossing) decide(ctx context.Context, r *http.Request) rulings.Ruling {
	start, waited := time.Now(), x.known.Waited
	x.ruling = x.edge.opt.Terms.Rule(ctx, x.request(r), &x.known, x.policy)
	x.rec.Ruling = &x.ruling
	x.listTerms()
	x.listDelays(r)
	for _, b := range x.known.Hops {
		x.rec.Breach(b)
	}
	took := time.Since(start)
	x.rec.Timings.Ruling += took - (x.known.Waited - waited)
	if x.asked() {
		x.rec.Timings.Terms = x.known.Waited
	}
	x.watch.aside += took
	return x.ruling
}

func (x *crossing) request(r *http.Request) rulings.Request {
	return rulings.Request{Method: r.Method, Origin: x.origin, Target: x.target, UserAgent: r.UserAgent(), User: x.user, Spending: x.rec.Spending,
		Offline: x.edge.opt.Upstream.opt.Offline}
}

// asked reports whether some term was asked for on account of this crossing.
func (x *crossing) asked() bool {
	for i := range x.rec.Terms {
		if t := &x.rec.Terms[i]; t.Cache == rulings.CacheFetched {
			return true
		}
	}
	return false
}

// listTerms puts what the ruling rests on into the record, in the order in which
// it was ruled (T119).
func (x *crossing) listTerms() {
	k := &x.known
	if k.Robots.URL == "" {
		return // no term was looked up
	}
	x.rec.Ruled = true
	x.term[0] = k.Robots.Term
	list := x.term[:]
	behind := func(at func(rulings.Mechanism) bool) {
		for i := range k.Licences {
			if at(k.Licences[i].Mechanism) {
				list = append(list, k.Licences[i].Term)
			}
		}
	}
	behind(func(m rulings.Mechanism) bool { return m == rulings.ByRobots })
	if k.TDM != nil {
		list = append(list, k.TDM.Term)
	}
	if k.Response != nil && k.Response.Term.Kind != "" {
		list = append(list, k.Response.Term)
	}
	behind(func(m rulings.Mechanism) bool { return m == rulings.ByLink })
	if k.Response != nil && k.Response.HTML != nil && k.Response.HTML.Term.Kind != "" {
		list = append(list, k.Response.HTML.Term)
	}
	behind(func(m rulings.Mechanism) bool { return m == rulings.ByHTML })
	x.rec.Terms = append(list, x.ruling.NotAsked...)
}

// ruleAnswer rules what came with the answer: its head and, of an HTML page, the
// head of the page (T65 to T68). Until then no octet of it was released.
func (x *crossing) ruleAnswer(r *http.Request, resp *http.Response) rulings.Ruling {
	x.describe(resp)
	if x.rec.Class != rulings.Source || !x.rec.Ruled {
		return x.ruling // a service, or a document that is exempt
	}
	required := len(x.policy.Requires(x.origin.Host)) > 0
	if !required && !rulings.MayState(resp.StatusCode, resp.Header) {
		return x.ruling // an answer that says nothing of terms
	}
	answer := rulings.ResponseOf(resp.StatusCode, resp.Header)
	states, reads := answer.States(), answer.ReadsHTML(r.Method)
	if !states && !reads && !required {
		return x.ruling
	}
	x.known.Response = answer
	if states {
		answer.Term = x.keep(rulings.TermHead, resp.StatusCode, answer.Octets())
	}
	if states || !reads {
		if ruling := x.decide(r.Context(), r); ruling.Refused() && len(ruling.Needs) == 0 {
			return x.unlessGone(r, ruling)
		}
	}
	if !reads {
		return x.unlessGone(r, x.ruling)
	}
	answer.HTML = x.readHead(r, resp)
	if octets := answer.HTML.Octets(); len(octets) > 0 {
		answer.HTML.Term = x.keep(rulings.TermHTML, resp.StatusCode, octets)
	} else if answer.HTML.Unseen == "" && !states && !required {
		return x.unlessGone(r, x.ruling) // the page says nothing more
	}
	return x.unlessGone(r, x.decide(r.Context(), r))
}

// unlessGone ends the crossing of a client that left while terms were looked up:
// what was to be asked may be missing for that reason alone.
func (x *crossing) unlessGone(r *http.Request, ruling rulings.Ruling) rulings.Ruling {
	if r.Context().Err() != nil {
		x.gone(r)
	}
	return ruling
}

// keep puts octets of the answer on disk as a term object, before any record
// names it (E5).
func (x *crossing) keep(kind rulings.TermKind, status int, octets []byte) rulings.Term {
	start := time.Now()
	defer func() {
		took := time.Since(start)
		x.rec.Timings.Ruling += took
		x.watch.aside += took
	}()
	t := rulings.Term{Kind: kind, URL: x.rec.URL, Status: status, Outcome: rulings.TermRead}
	var err error
	if t.Object, err = x.edge.opt.Terms.PutObject(octets); err != nil {
		t.Unwritten = true
		x.edge.log.Warn("term object not written", "kind", string(kind), "error", err)
	}
	return t
}

// wireLimit bounds how many octets as served are held while the head of a page
// is read: a content coding can be made to yield nothing for long.
const wireLimit = 128 << 10

// readHead reads the head of the page and puts what it took back in front of the
// body, as served. It reads no further than the head goes (T113).
func (x *crossing) readHead(r *http.Request, resp *http.Response) *rulings.HTMLTerms {
	if unseen := unseenHead(resp, x.rec.ContentRange); unseen != "" {
		return &rulings.HTMLTerms{Unseen: unseen}
	}
	taken := &tee{src: resp.Body}
	defer func() { resp.Body = &resumed{io.MultiReader(bytes.NewReader(taken.held), taken.rest()), resp.Body} }()
	const undone = "the content coding cannot be undone"
	content, err := decoded(r.Context(), taken, x.rec.ContentCoding)
	if err != nil {
		return &rulings.HTMLTerms{Unseen: undone}
	}
	page, err := x.known.Response.ReadHTML(&errorApart{r: content}, x.origin, x.target, x.policy.Identity.Tokens)
	switch {
	case err == nil, taken.broken(): // where the body broke off, its delivery says so
	case len(page.Octets()) == 0:
		return &rulings.HTMLTerms{Unseen: undone}
	default: // what was seen of it binds
		x.gap(rulings.GapHTMLTermsUnseen, undone+" behind some of the head")
	}
	return page
}

// unseenHead says why the head of a page cannot be looked at (T68).
func unseenHead(resp *http.Response, contentRange string) string {
	if resp.StatusCode == http.StatusPartialContent && !strings.HasPrefix(strings.TrimSpace(contentRange), "bytes 0-") {
		return "the part that was asked for does not begin with the page"
	}
	return ""
}

// An errorApart returns an error in a Read of its own, because a head that ended
// in what came with the error was seen whole.
type errorApart struct {
	r   io.Reader
	err error
}

func (e *errorApart) Read(p []byte) (n int, err error) {
	if e.err == nil {
		n, e.err = e.r.Read(p)
	}
	if n > 0 {
		return n, nil
	}
	return 0, e.err
}

// A tee keeps what is read of a body.
type tee struct {
	src  io.Reader
	held []byte
	err  error // of src; io.EOF when it ended
}

func (t *tee) Read(p []byte) (int, error) {
	if len(t.held) >= wireLimit {
		return 0, errManyCodings // the coding yields no head within what is held
	}
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.src.Read(p[:min(len(p), wireLimit-len(t.held))])
	t.held, t.err = append(t.held, p[:n]...), err
	return n, err
}

// broken reports whether src broke off before its end.
func (t *tee) broken() bool { return t.err != nil && t.err != io.EOF }

// rest is what follows what was held.
func (t *tee) rest() io.Reader {
	if t.err != nil {
		return ended{t.err}
	}
	return t.src
}

// ended is a body at whose end err was met.
type ended struct{ err error }

func (e ended) Read([]byte) (int, error) { return 0, e.err }

// A resumed body is one whose beginning was held and is read again.
type resumed struct {
	io.Reader
	src io.Closer
}

func (r *resumed) Close() error { return r.src.Close() }
