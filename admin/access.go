package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard turns away what may not speak to the desk at all, token or not (A2, A4).
func (d *desk) guard(next http.Handler) http.Handler {
	return d.handler(func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		switch {
		case d.cameThroughUs(r):
			return newProblem(http.StatusLoopDetected, "The request came through the edge's own proxy, where the desk is not to be reached.")
		case !d.ownName(r):
			return newProblem(http.StatusMisdirectedRequest, "The Host field names somebody else than this listener.")
		case !sameOrigin(r):
			return newProblem(http.StatusForbidden, "The Origin field names another site.")
		case strings.Contains(r.URL.EscapedPath(), "%"):
			// No id needs an escape, and a router and a file system that
			// resolve one at different times see two different paths.
			return newProblem(http.StatusBadRequest, "No path of this API has a percent-escape.")
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// authorised lets only those through who have the token (A1).
func (d *desk) authorised(next http.Handler) http.Handler {
	return d.handler(func(w http.ResponseWriter, r *http.Request) error {
		if !d.hasToken(r) {
			return newProblem(http.StatusUnauthorized, "This needs the admin token: Authorization: Bearer <token>.")
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// hasToken compares digests, so that neither the content nor the length of the
// token shows in how long it takes.
func (d *desk) hasToken(r *http.Request) bool {
	fields := r.Header.Values("Authorization")
	if len(fields) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	sum := sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1
}

// cameThroughUs reports whether the edge's proxy forwarded r: it puts its own
// pseudonym into Via (RFC 9110 section 7.6.3).
func (d *desk) cameThroughUs(r *http.Request) bool {
	if d.Via == "" {
		return false
	}
	for _, field := range r.Header.Values("Via") {
		for hop := range strings.SplitSeq(field, ",") {
			if words := strings.Fields(hop); len(words) > 1 && strings.EqualFold(words[1], d.Via) {
				return true
			}
		}
	}
	return false
}

// ownName reports whether the Host field names this listener: by a loopback
// name, by the address the connection came in on, or by one of Options.Names. A
// page of another site that lets its name resolve to this machine names itself
// (DNS rebinding). The port is not compared: a container's may be mapped.
func (d *desk) ownName(r *http.Request) bool {
	name := strings.ToLower(hostOf(r.Host))
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return name == "localhost" || d.names[name]
	}
	if addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback() || d.names[addr.String()] {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.AddrPort().Addr().Unmap() == addr
}

// hostOf returns host without its port, brackets kept; "" when it is malformed.
func hostOf(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host
	}
	if strings.Trim(host[i+1:], "0123456789") != "" {
		return ""
	}
	return host[:i]
}

// sameOrigin reports whether r comes from no page or from one of the desk
// itself. There is no CORS.
func sameOrigin(r *http.Request) bool {
	fields := r.Header.Values("Origin")
	if len(fields) == 0 {
		return true
	}
	scheme, host, ok := strings.Cut(fields[0], "://")
	return ok && len(fields) == 1 && (scheme == "http" || scheme == "https") && strings.EqualFold(host, r.Host)
}
