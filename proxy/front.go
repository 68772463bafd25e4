package proxy

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// front takes what reaches the proxy port: requests in absolute-form and
// CONNECT (N1).
func (e *Edge) front(w http.ResponseWriter, r *http.Request) {
	noteAsked(r)
	switch {
	case r.Method == http.MethodConnect:
		e.connect(w, r)
		return
	case !r.URL.IsAbs():
		e.notProxied(w, r)
		return
	}
	who, reason := e.identify(r)
	x := e.newCrossing(w, r, who)
	if reason != "" {
		x.turnAway(r, rejection{reason, "the proxy credentials were not accepted", credentialWords(reason)})
		return
	}
	e.cross(x, r, r.URL.Scheme, r.URL.Host, r.RequestURI)
}

// inside takes what a tunnel carries.
func (e *Edge) inside(w http.ResponseWriter, r *http.Request) {
	t, _ := r.Context().Value(tunnelKey{}).(*tunnel)
	t.requests.Add(1)
	noteAsked(r)
	if r.Host == "" { // HTTP/1.0 need not name the host
		r.Host = strings.TrimPrefix(t.origin.String(), t.origin.Scheme+"://")
	}
	x := e.newCrossing(w, r, t.agent)
	switch {
	case r.Method == http.MethodConnect: // names no page
	case r.RequestURI == "*":
		x.rec.URL = t.origin.Scheme + "://" + r.Host
	default:
		x.rec.URL = t.origin.Scheme + "://" + r.Host + targetOf(r.RequestURI)
	}
	if rej := t.mismatch(r); rej != nil {
		x.turnAway(r, *rej)
		return
	}
	e.cross(x, r, t.origin.Scheme, r.Host, x.rec.URL)
}

// notProxied answers a request made to the proxy as if it were a site.
func (e *Edge) notProxied(w http.ResponseWriter, r *http.Request) {
	x := e.newCrossing(w, r, agent{log: e.opt.Evidence.Own()})
	x.caURL = e.opt.CAURL
	x.turnAway(r, rejection{rulings.RequestInvalid, "origin-form request to the proxy port",
		rulings.Say("This is a proxy: ask it for a full URL, or for a tunnel by CONNECT.")})
}

// An agent is who asks.
type agent struct {
	user string        // the proxy user name, which names its session (N20); empty for none
	log  *evidence.Log // of the session or, in a batch run, of the run
}

// session is the one that records name: for an agent without a user name the
// edge's own, which there is none of in a batch run (E2).
func (a agent) session() string {
	if id := a.log.ID(); a.user == "" && evidence.OwnSession(id) {
		return id
	}
	return a.user
}

// identify finds who asks, from the proxy credentials (N20). A reason other than
// empty says why they are not accepted; it is nobody then, and the log is the
// edge's own.
func (e *Edge) identify(r *http.Request) (agent, rulings.Reason) {
	nobody := agent{log: e.opt.Evidence.Own()}
	user, password, ok := basicCredentials(r.Header.Get("Proxy-Authorization"))
	switch {
	case e.opt.Credentials != nil && !ok:
		return nobody, rulings.CredentialsRequired
	case !ok || user == "" && e.opt.Credentials == nil:
		return nobody, ""
	case !evidence.ValidSession(user), evidence.OwnSession(user):
		return nobody, rulings.SessionInvalid
	case e.opt.Credentials != nil && !e.opt.Credentials.Check(user, password):
		return nobody, rulings.CredentialsRequired
	}
	log, err := e.opt.Evidence.Session(user)
	if errors.Is(err, evidence.ErrSessionInvalid) {
		return nobody, rulings.SessionInvalid
	}
	if err != nil { // its log cannot be opened: the own log at least takes the records
		e.owed(err)
		log = nobody.log
	}
	return agent{user, log}, ""
}

func basicCredentials(field string) (user, password string, ok bool) {
	scheme, coded, _ := strings.Cut(field, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(coded))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(raw), ":")
}

func credentialWords(reason rulings.Reason) rulings.Words {
	if reason == rulings.SessionInvalid {
		return rulings.Say("The proxy user name is the session's id: 1 to 128 letters, digits, '.', '_' or '-', not starting with '.', and not that of an edge's own log.")
	}
	return rulings.Say("The proxy asks for a session's id and its token as user name and password.")
}

// cross checks what can be checked of a request before it is ruled and hands it
// to goproxy's handler, which calls the exchange.
func (e *Edge) cross(x *crossing, r *http.Request, scheme, authority, asWritten string) {
	e.exchanges.Add(1)
	defer e.exchanges.Done()
	x.rec.URL = asWritten
	if rej := x.settle(r, scheme, authority, asWritten); rej != nil {
		x.turnAway(r, *rej)
		return
	}
	if asksWebsocket(r) {
		h := &hijackWriter{ResponseWriter: x.w, edge: e}
		x.w = h
		defer h.finish()
	}
	if r.ProtoMajor == 1 && r.ContentLength < 0 && r.Trailer == nil {
		r.Trailer = make(http.Header) // net/http puts trailers here that were not announced
	}
	defer x.letGo()
	defer x.aborted()
	req := r.WithContext(context.WithValue(r.Context(), crossingKey{}, x))
	req.URL = &url.URL{Scheme: x.origin.Scheme, Host: x.origin.Authority(), Path: r.URL.Path}
	e.carry.ServeHTTP(x.w, req)
	x.endUpload(r)
}

// A rejection is why a request is turned away before it can be ruled.
type rejection struct {
	reason rulings.Reason
	detail string // for the record
	told   rulings.Words
}

// settle finds out where the request goes, or why it goes nowhere (N3, N4, N7).
func (x *crossing) settle(r *http.Request, scheme, authority, asWritten string) *rejection {
	switch {
	case len(r.RequestURI) > maxTargetBytes:
		x.rec.URL = ""
		return &rejection{rulings.TargetTooLong, fmt.Sprintf("a target of %d octets", len(r.RequestURI)),
			rulings.Say("The request target has more than % octets.", rulings.Number(maxTargetBytes))}
	case r.Method == http.MethodConnect: // goproxy would open a tunnel of its own
		return &rejection{rulings.RequestInvalid, "CONNECT inside a tunnel", rulings.Say("A tunnel cannot be opened inside a tunnel.")}
	case r.Method == "PRI" || strings.ContainsFunc(r.Method, func(c rune) bool { return !httpguts.IsTokenRune(c) }):
		// net/http leaves the preface of HTTP/2 (RFC 9113 3.4) and the methods
		// that HTTP/2 clients make up to its handlers.
		return &rejection{rulings.RequestInvalid, "the method is none", rulings.Say("The request's method is not one of HTTP.")}
	case strings.ContainsFunc(r.RequestURI, func(c rune) bool { return c <= ' ' || c == 0x7F }):
		// HTTP/2 has no line that a blank would split; the one to the site may.
		return &rejection{rulings.RequestInvalid, "a blank or control octet in the target", rulings.Say("The request target has a blank or a control character. Escape it.")}
	case r.URL.User != nil || strings.Contains(authority, "@"):
		return &rejection{rulings.RequestInvalid, "userinfo in the target", rulings.Say("A user name or password in the URL is not accepted.")}
	case scheme != "http" && scheme != "https":
		return &rejection{rulings.RequestInvalid, "scheme is neither http nor https", rulings.Say("Only http and https URLs are carried.")}
	}
	origin, err := hostkey.ParseOrigin(scheme, authority)
	if err != nil {
		return &rejection{rulings.RequestInvalid, err.Error(), rulings.Say("The host in the URL is not a valid name or address.")}
	}
	x.address(origin, asWritten, askedOf(r))
	if x.target == "*" && r.Method != http.MethodOptions {
		return &rejection{rulings.RequestInvalid, "the asterisk-form with another method than OPTIONS",
			rulings.Say("The target * is for the method OPTIONS alone.")}
	}
	if hops, ok := maxForwards(r); ok && hops == 0 {
		return &rejection{rulings.RequestInvalid, "Max-Forwards is 0", rulings.Say("The request's Max-Forwards is 0, so it ends at this proxy.")}
	}
	if !sendableAsWritten(x.target) {
		return &rejection{rulings.RequestInvalid, "the target begins with // and has octets that are not allowed in a URL",
			rulings.Say("The path begins with two slashes and has characters that must be escaped (RFC 3986). Escape them.")}
	}
	if x.edge.passed(r.Header) || x.edge.opt.Upstream.dialer.leadsBack(origin) {
		return &rejection{rulings.Loop, loopRuling().Detail, loopRuling().Told}
	}
	return nil
}

// turnAway records and answers a request that cannot be ruled. Many alike from
// one address share a record, so that nobody fills the disk this way (E13).
func (x *crossing) turnAway(r *http.Request, rej rejection) {
	rep := reply{Reason: rej.reason, Detail: rej.told, CAURL: x.caURL}
	x.setRefusal(rulings.Ruling{Outcome: rulings.Refuse, Reason: rej.reason, Stage: rulings.StageBefore, Detail: rej.detail})
	x.tell(&rep)
	if !x.edge.folded.fold(x) {
		x.end(evidence.Refused)
	}
	x.limitDrain(r)
	x.edge.write(x.w, r, x.edge.response(r, rep, x.label()))
}

// write sends an answer of the edge's own that does not pass through goproxy.
func (e *Edge) write(w http.ResponseWriter, r *http.Request, resp *http.Response) {
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if r.Method != http.MethodHead {
		// An error means that the client left, and nothing is owed to it.
		_, _ = io.Copy(w, resp.Body)
	}
}
