package proxy

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// isHopByHop reports whether a field belongs to one connection (RFC 9110 7.6.1).
// TE is among them and handled apart: "trailers" passes. Trailer too: net/http
// announces trailers itself.
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Trailer":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

// endToEnd returns the fields of h that go on to the next hop (N8). The values
// are shared, not copied.
func endToEnd(h http.Header) http.Header {
	out := maps.Clone(h)
	keepEndToEnd(out)
	return out
}

// keepEndToEnd takes the fields out of h that end here, those that Connection
// nominates included.
func keepEndToEnd(h http.Header) {
	nominated := h["Connection"]
	for name := range h {
		if isHopByHop(name) {
			delete(h, name)
		}
	}
	for _, line := range nominated {
		for name := range strings.SplitSeq(line, ",") {
			delete(h, textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)))
		}
	}
}

// errBlankCoding is an answer whose framing net/http has missed for a blank.
var errBlankCoding = errors.New("the answer has a blank behind the name Transfer-Encoding")

// taken takes over what a transport returns. The blank that an HTTP/1.1 site may have
// between a name and its colon goes from the head.
func taken(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	mendNames(resp.Header)
	if resp.ProtoMajor == 1 && resp.Header["Transfer-Encoding"] != nil { // net/http removes those it has read
		resp.Body.Close()
		return nil, errBlankCoding
	}
	return resp, nil
}

// mendNames takes the blanks off the ends of names in h, as a proxy has to (RFC 9112
// 5.1). net/http leaves them, and under such a name no rule finds the field. A length
// is dropped: the answer was not read by it.
func mendNames(h http.Header) {
	var odd []string
	for name := range h {
		if strings.HasSuffix(name, " ") {
			odd = append(odd, name)
		}
	}
	slices.Sort(odd)
	for _, name := range odd {
		if mended := textproto.CanonicalMIMEHeaderKey(strings.TrimRight(name, " ")); mended != "Content-Length" {
			h[mended] = append(h[mended], h[name]...)
		}
		delete(h, name)
	}
}

// requestFields are the fields of r as they are sent on, without User-Agent,
// which depends on the policy.
func (e *Edge) requestFields(r *http.Request) http.Header {
	out := endToEnd(r.Header)
	if httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers") {
		out["Te"] = []string{"trailers"}
	}
	if asksWebsocket(r) {
		out["Connection"] = []string{"Upgrade"}
		out["Upgrade"] = []string{"websocket"}
	}
	// net/http takes these two spellings for leave to send a request again;
	// it does not know them in lower case, and field names have no case.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := out[name]; ok {
			delete(out, name)
			out[strings.ToLower(name)] = v
		}
	}
	if hops, ok := maxForwards(r); ok {
		out["Max-Forwards"] = []string{strconv.FormatUint(hops-1, 10)}
	}
	e.addVia(out, r.ProtoMajor, r.ProtoMinor)
	return out
}

// maxForwards is how many hops an OPTIONS or TRACE may still go, if it says
// (RFC 9110 7.6.2). With none left it is not sent on.
func maxForwards(r *http.Request) (hops uint64, ok bool) {
	if r.Method != http.MethodOptions && r.Method != http.MethodTrace {
		return 0, false
	}
	hops, err := strconv.ParseUint(r.Header.Get("Max-Forwards"), 10, 64)
	return hops, err == nil
}

// responseFields turns the fields of an answer into what is passed to the client.
func (e *Edge) responseFields(resp *http.Response) http.Header {
	out := resp.Header
	keepEndToEnd(out)
	delete(out, "Alt-Svc") // it would lead the client round the proxy
	delete(out, breachField)
	if resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		delete(out, "Content-Length")
	}
	// net/http adds a date and a guessed type unless the entry is there.
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := out[name]; !ok {
			out[name] = nil
		}
	}
	e.addVia(out, resp.ProtoMajor, resp.ProtoMinor)
	return out
}

// addVia adds this hop, with the version it received (RFC 9110 7.6.3).
func (e *Edge) addVia(h http.Header, major, minor int) {
	hop := e.viaByVersion(major, minor)
	if earlier := h["Via"]; len(earlier) > 0 {
		hop = strings.Join(earlier, ", ") + ", " + hop
	}
	h["Via"] = []string{hop}
}

func (e *Edge) viaByVersion(major, minor int) string {
	switch {
	case major == 2:
		return "2.0 " + e.via
	case major == 1 && minor == 0:
		return "1.0 " + e.via
	}
	return "1.1 " + e.via
}

// passed reports whether the request has been through this edge before.
func (e *Edge) passed(h http.Header) bool {
	for _, line := range h["Via"] {
		for hop := range strings.SplitSeq(line, ",") {
			fields := strings.Fields(hop)
			if len(fields) >= 2 && fields[1] == e.via {
				return true
			}
		}
	}
	return false
}

// asksWebsocket reports whether r is a websocket handshake: a bodiless GET over
// HTTP/1.1 (RFC 6455 4.1). HTTP/1.0 has no Upgrade (RFC 9110 7.8), and HTTP/2 does
// it another way.
func asksWebsocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ProtoMinor >= 1 && r.ContentLength == 0 && isWebsocket(r.Header)
}

// isWebsocket reports whether h asks for, or grants, a change to the websocket
// protocol (RFC 6455 section 4).
func isWebsocket(h http.Header) bool {
	return httpguts.HeaderValuesContainsToken(h["Connection"], "upgrade") &&
		httpguts.HeaderValuesContainsToken(h["Upgrade"], "websocket")
}

// bindsConnection reports whether the request carries a login that holds for
// its connection and not for itself (RFC 4559): such a connection is never
// shared between agents (N17).
func bindsConnection(h http.Header) bool {
	for _, v := range h["Authorization"] {
		scheme, _, _ := strings.Cut(v, " ")
		if strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate") {
			return true
		}
	}
	return false
}
