package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// A reloadedEdge is one whose policy a test replaces.
type reloadedEdge struct {
	*testEdge
	policy atomic.Pointer[rulings.Policy]
	ruled  func() // called once a crossing was ruled, before anything is dialled for the page
}

func (r *reloadedEdge) Rule(ctx context.Context, req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling {
	ruling := r.book.Rule(ctx, req, known, policy)
	r.ruled()
	return ruling
}

func (r *reloadedEdge) PutObject(octets []byte) (rulings.Digest, error) {
	return r.book.PutObject(octets)
}

func (r *reloadedEdge) adopt(t *testing.T, f rulings.PolicyFile) {
	t.Helper()
	p, faults := rulings.NewPolicy(f)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	r.policy.Store(p)
}

func startReloaded(t *testing.T, f rulings.PolicyFile) *reloadedEdge {
	t.Helper()
	r := &reloadedEdge{ruled: func() {}}
	r.adopt(t, f)
	r.testEdge = startEdge(t, edgeSetup{
		upstream: func(o *UpstreamOptions) { o.Policy = r.policy.Load },
		options:  func(o *Options) { o.Policy, o.Terms = r.policy.Load, r },
	})
	return r
}

// Policies under which site.test, which is on loopback, is reached and is not.
func guards() (open, closed rulings.PolicyFile) {
	open, closed = policyAllowing("site.test"), policyAllowing("192.168.77.0/24")
	open.Services, closed.Services = []string{"site.test"}, []string{"site.test"}
	return open, closed
}

// named is the site's URL under a name whose address only the dial finds out.
func named(url string) string { return strings.Replace(url, "127.0.0.1", "site.test", 1) }

// A connection that an earlier policy let be dialled serves no crossing of one
// that would not, and is there again for those of the first.
func TestO4AConnectionServesOnlyCrossingsWhoseGuardLetItBeDialled(t *testing.T) {
	open, closed := guards()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			r := startReloaded(t, open)
			o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
			c := r.by(w)
			for i, step := range []struct {
				policy   rulings.PolicyFile
				status   int
				requests int64
			}{{open, 204, 1}, {open, 204, 2}, {closed, 403, 2}, {closed, 403, 2}, {open, 204, 3}} {
				r.adopt(t, step.policy)
				resp, _ := get(t, c, named(o.URL)+"/")
				if resp.StatusCode != step.status || o.requests.Load() != step.requests || step.status == 403 && reasonOf(resp) != "private_address" {
					t.Errorf("step %d: %s, reason %s, %d requests at the site", i, resp.Status, reasonOf(resp), o.requests.Load())
				}
			}
		})
	}
}

// What is dialled for a crossing is judged by its own policy, whatever was
// adopted since it began.
func TestO4TheGuardIsThatOfThePolicyACrossingBeganWith(t *testing.T) {
	open, closed := guards()
	for _, w := range ways {
		for _, c := range []struct {
			name          string
			began, adopts rulings.PolicyFile
			status        int
		}{{"began under the open one", open, closed, 204}, {"began under the closed one", closed, open, 403}} {
			t.Run(w.name+" "+c.name, func(t *testing.T) {
				r := startReloaded(t, c.began)
				o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
				r.ruled = func() { r.adopt(t, c.adopts) }
				began := r.policy.Load()
				resp, _ := get(t, r.by(w), named(o.URL)+"/")
				if resp.StatusCode != c.status || o.requests.Load() != map[int]int64{204: 1, 403: 0}[c.status] {
					t.Errorf("%s, reason %s, %d requests at the site", resp.Status, reasonOf(resp), o.requests.Load())
				}
				r.crossing("/").want(t, map[string]any{"policy_digest": began.Digest().String()})
			})
		}
	}
}

// A login that holds for a connection ends with the guard it was made under.
func TestO4AnAgentsOwnConnectionIsJudgedByEachCrossingsGuard(t *testing.T) {
	open, closed := guards()
	r := startReloaded(t, open)
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	c := r.by(ways[0])
	for i, step := range []struct {
		policy rulings.PolicyFile
		status int
	}{{open, 204}, {closed, 403}, {open, 204}} {
		r.adopt(t, step.policy)
		resp, err := c.Do(request(t, "GET", named(s.url)+"/", nil, "Authorization", "NTLM TlRMTVNT"))
		if text(t, resp, err); resp.StatusCode != step.status {
			t.Errorf("step %d: %s", i, resp.Status)
		}
	}
	if n := s.connections.Load(); n != 2 {
		t.Errorf("%d connections were made", n)
	}
}

// Few guards have connections at a time, and those of another are closed.
func TestO4ConnectionsOfEarlierGuardsAreBounded(t *testing.T) {
	u, err := NewUpstream(UpstreamOptions{Policy: loopbackPolicyOf(t)})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	ended := make(chan error, 1)
	go func() { ended <- answerAndAwaitEnd(l) }()
	first := u.pool(loopbackPolicyOf(t)())
	resp, err := first.shared.RoundTrip(request(t, "GET", "http://"+l.Addr().String()+"/", nil))
	text(t, resp, err)
	for i := range maxPools {
		p, faults := rulings.NewPolicy(policyAllowing([]string{"a.test", "b.test", "c.test", "d.test"}[i]))
		if len(faults) > 0 || u.pool(p) == first {
			t.Fatalf("%v: another guard has the same connections", faults)
		}
	}
	must(t, <-ended)
	if n := len(u.pools.list); n != maxPools {
		t.Errorf("%d guards have connections", n)
	}
}

// answerAndAwaitEnd answers what comes over one connection until its other end
// closes it.
func answerAndAwaitEnd(l net.Listener) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	for br := bufio.NewReader(c); ; {
		if _, err := http.ReadRequest(br); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
			return err
		}
	}
}
