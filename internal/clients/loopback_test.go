//go:build clients

package clients

import (
	"testing"
)

// Go's standard library leaves loopback targets out of every proxy that the
// environment names (golang.org/issue/28866), so a Go program's requests to
// 127.0.0.1 or localhost never reach the edge. docs/clients.md says so; this
// test notices when it is no longer true, and is why every other test names the
// proxy to Go's transport.
func TestC07AGoClientLeavesLoopbackOutWhateverTheEnvironmentSays(t *testing.T) {
	a := newAuthority(t)
	o := startUnwatched(t, nil, "localhost", "127.0.0.1", newSite())
	e := startEdge(t, a)
	env := pairs(e.env(t, sessionName(t)))

	output(t, env, built.goClient, "environment", o.url+"/page")
	if got := o.at("/page"); len(got) != 1 || got[0].via != "" {
		t.Errorf("asked as the environment says, the origin saw %+v; want one request past the edge", got)
	}
	output(t, env, built.goClient, "set", o.url+"/page")
	if got := o.at("/page"); len(got) != 2 || got[1].via == "" {
		t.Errorf("asked with the proxy set, the origin saw %+v; want a second request through the edge", got)
	}
}
