//go:build clients

package clients

import (
	"encoding/pem"
	"os"
	"slices"
	"testing"
)

// Behind a tunnel that nobody reads, a client meets the origin's own
// certificate. A bundle of the edge's CA alone would break every such host.
func TestC04TheBundleServesForHostsThatAreNotIntercepted(t *testing.T) {
	a := newAuthority(t)
	o := startUnwatched(t, &a, tunnelHost, tunnelHost, newSite())
	e := startEdge(t, a)
	for _, c := range httpClients(t) {
		if c.underRun {
			continue // it needs an edge of its own, and Node is no special case here
		}
		t.Run(c.name, func(t *testing.T) {
			before := len(o.arrived())
			got := c.get(t, e, sessionName(t), o.url+"/page", nil)
			got.expect(t, "200", c.proto)
			if string(got.body) != pageText {
				t.Errorf("the page is %q, want %q", got.body, pageText)
			}
			// Nothing but the tunnel can have been seen, and that was seen.
			for _, a := range o.arrived()[before:] {
				if a.via != "" {
					t.Errorf("the request came with Via: %s, so the tunnel was opened", a.via)
				}
			}
			if c.sends {
				e.awaitRecord(t, sessionName(t), "crossing_observed")
			}
		})
	}
}

// systemRoots is where Debian keeps the public roots.
const systemRoots = "/etc/ssl/certs/ca-certificates.crt"

func TestC04TheBundleKeepsEveryPublicRoot(t *testing.T) {
	e := startEdge(t, newAuthority(t))
	bundle := certificates(t, e.bundle())
	public := certificates(t, systemRoots)
	if len(public) < 50 {
		t.Fatalf("%s has only %d certificates: apt-get install ca-certificates", systemRoots, len(public))
	}
	for _, root := range public {
		if !slices.Contains(bundle, root) {
			t.Errorf("the bundle lacks a root of the system's:\n%x", root)
		}
	}
	if ours := certificates(t, e.caFile); len(ours) != 1 || !slices.Contains(bundle, ours[0]) {
		t.Error("the bundle lacks the edge's CA")
	}
}

// certificates returns the DER of every certificate in a PEM file.
func certificates(t *testing.T, file string) []string {
	t.Helper()
	rest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		out = append(out, string(block.Bytes))
	}
}
