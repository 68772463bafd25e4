package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// passThrough splices a tunnel the operator listed, unread: an observed
// crossing with its gap (O9, E22).
func (e *Edge) passThrough(x *crossing, r *http.Request, conn net.Conn, early []byte) {
	defer conn.Close()
	defer x.letGo()
	x.rec.Method = ""
	x.govern(x.origin.Host)
	// net/http no longer watches a connection it handed over, and the request's
	// context ends with its handler.
	ctx := e.baseCtx
	// Behind upstream.proxy no dial of ours would find out what address is meant.
	if x.admit(ctx).Refused() {
		x.refuseConnect(conn, r, rejection{x.ruling.Reason, x.ruling.Detail, x.ruling.Told})
		return
	}
	if e.opt.Upstream.replay != nil {
		x.tunnelUnrecorded(conn, r)
		return
	}
	x.rec.RequestedAt = time.Now()
	up, err := e.opt.Upstream.dialTunnel(ctx, x.policy, x.origin.Authority())
	if err != nil {
		x.failTunnel(conn, r, err)
		return
	}
	x.observed()
	defer up.Close()
	if d := dialledOf(up); d != nil {
		x.watch.addr, x.watch.fresh = d.facts.address, d.facts
		x.rec.Address = x.watch.address()
		up = d.Conn // bare, so that the kernel can splice
	}
	x.open()
	if err := x.writeEstablished(conn); err != nil {
		x.rec.Failure = evidence.Failure{Kind: "client", Detail: err.Error()}
		x.end(evidence.Abandoned)
		return
	}
	e.metrics.tunnels.Inc()
	defer e.metrics.tunnels.Dec()
	sent, received := splice(conn, up, early)
	x.rec.Up, x.rec.Down = evidence.Counted(sent), evidence.Counted(received)
	x.endRelay()
}

// observed says of a tunnel that was let through that nothing of it was read. One
// that was refused was ruled before there was anything to be read.
func (x *crossing) observed() {
	x.rec.Grade = evidence.Observed
	x.gap(evidence.CapabilityUnavailable, "the tunnel is passed through unread")
}

// admit rules a tunnel that is not read by the operator's policy, which is all
// that is known of it (O14).
func (x *crossing) admit(ctx context.Context) rulings.Ruling {
	x.rec.Ruling = &x.ruling
	x.ruling = rulings.Decide(rulings.Request{Origin: x.origin, User: x.user, Offline: x.edge.opt.Upstream.opt.Offline}, rulings.Terms{}, x.policy)
	if x.ruling.Refused() {
		return x.ruling
	}
	return x.affordTunnel(ctx)
}

// writeEstablished answers a CONNECT that is carried, and names the breaches that
// are (O11).
func (x *crossing) writeEstablished(conn net.Conn) error {
	h := make(http.Header)
	x.tellBreaches(h)
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 Connection established\r\n")
	if err := h.Write(&b); err != nil {
		return err
	}
	b.WriteString("\r\n")
	_, err := conn.Write(b.Bytes())
	return err
}

// failTunnel answers a CONNECT whose dial did not succeed.
func (x *crossing) failTunnel(conn net.Conn, r *http.Request, err error) {
	x.undialled(err)
	f := failureOf(err)
	refusals := map[rulings.Reason]rulings.Ruling{
		rulings.PrivateAddress: rulings.RefuseAddress(x.origin.Host),
		rulings.Offline:        rulings.RefuseOffline(x.origin.Host),
		rulings.Loop:           loopRuling(),
	}
	if ruling, ok := refusals[f.reason]; ok {
		x.rec.RequestedAt = time.Time{}
		x.refuseConnect(conn, r, rejection{ruling.Reason, ruling.Detail, ruling.Told})
		return
	}
	x.observed()
	x.rec.Failure = evidence.Failure{Kind: string(f.reason), Detail: f.detail}
	x.gap(evidence.DependencyUnavailable, x.origin.Authority()+": "+string(f.reason))
	rep := reply{Reason: f.reason, Detail: f.told}
	x.tell(&rep)
	x.end(evidence.Unavailable)
	x.writeConnect(conn, r, rep)
}

// splice copies both ways until both ends are through, and returns how much went
// each way. An end that closes its writing half closes the other's too.
func splice(client, up net.Conn, early []byte) (sent, received int64) {
	done := make(chan struct{})
	go copyHalf(client, up, &received, done)
	n, err := up.Write(early)
	sent = int64(n)
	if err == nil {
		var rest int64
		rest, err = io.Copy(up, client)
		sent += rest
	}
	endHalf(up, client, err)
	<-done
	return sent, received
}

// copyHalf is the half of splice that runs beside the other; it closes done.
func copyHalf(dst, src net.Conn, n *int64, done chan<- struct{}) {
	defer close(done)
	var err error
	*n, err = io.Copy(dst, src)
	endHalf(dst, src, err)
}

// endHalf passes on that src has nothing more to say, or, after an error, closes
// both so that the other half ends too.
func endHalf(dst, src net.Conn, err error) {
	half, ok := dst.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		dst.Close()
		src.Close()
	}
}

// dialTunnel connects to authority, through upstream.proxy where there is one.
func (u *Upstream) dialTunnel(ctx context.Context, policy *rulings.Policy, authority string) (net.Conn, error) {
	if u.opt.Proxy == nil {
		return u.dialer.dial(ctx, policy, "tcp", authority)
	}
	if u.opt.Proxy.Scheme != "http" {
		return nil, errors.New("a tunnel can be opened through an http upstream.proxy only")
	}
	conn, err := u.dialer.dial(ctx, policy, "tcp", proxyAddress(u.opt.Proxy))
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(u.opt.HeadTimeout))
	if err := connectThrough(conn, u.opt.Proxy, authority); err != nil {
		conn.Close()
		return nil, &legError{legConnect, err}
	}
	conn.SetDeadline(time.Time{})
	return conn, nil
}

// connectThrough asks the proxy at the other end of conn for a tunnel.
func connectThrough(conn net.Conn, proxy *url.URL, authority string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: authority}, Host: authority, Header: http.Header{"User-Agent": {""}}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	// One octet at a time, so that nothing behind the head is taken.
	br := bufio.NewReaderSize(&oneByteReader{conn}, 16)
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refusedTunnel(resp)
	}
	return nil
}

func refusedTunnel(resp *http.Response) error {
	return fmt.Errorf("upstream.proxy refused the tunnel: %d", resp.StatusCode)
}

type oneByteReader struct{ io.Reader }

func (r *oneByteReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }
