//go:build clients

package clients

import (
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// servedChain returns the certificates that a handshake through the edge shows,
// as openssl sees them.
func servedChain(t *testing.T, e *edge, target string) [][]byte {
	t.Helper()
	argv := []string{
		program(t, "openssl", "openssl"), "s_client", "-proxy", e.proxy, "-connect", target, "-showcerts",
		"-CAfile", e.caFile, "-verify_return_error", "-x509_strict",
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	if net.ParseIP(host) == nil {
		argv = append(argv, "-servername", host, "-verify_hostname", host)
	} else {
		argv = append(argv, "-noservername", "-verify_ip", host)
	}
	printed := output(t, nil, argv...) // standard input is empty, so it ends behind the handshake
	if !strings.Contains(printed, "Verify return code: 0 (ok)") {
		t.Errorf("openssl does not trust what the edge shows for %s:\n%s", target, printed)
	}
	var chain [][]byte
	for rest := []byte(printed); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return chain
		}
		chain = append(chain, pem.EncodeToMemory(block))
	}
}

func TestN23OpensslFindsEveryLeafStrictlyValidAndItsChainWhole(t *testing.T) {
	a, s := newAuthority(t), newSite()
	named := startOrigin(t, &a, "localhost", "127.0.0.1", s)
	numbered := startOrigin(t, &a, "127.0.0.1", "127.0.0.1", s)
	e := startEdge(t, a)
	ca, err := os.ReadFile(e.caFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*origin{"of a name": named, "of an address": numbered} {
		t.Run("the leaf "+name, func(t *testing.T) {
			chain := servedChain(t, e, o.host())
			if len(chain) != 2 {
				t.Fatalf("the handshake showed %d certificates, want the leaf and its CA", len(chain))
			}
			if strings.TrimSpace(string(chain[1])) != strings.TrimSpace(string(ca)) {
				t.Error("the second certificate is not the edge's CA")
			}
			leaf := filepath.Join(t.TempDir(), "leaf.pem")
			if err := os.WriteFile(leaf, chain[0], 0o600); err != nil {
				t.Fatal(err)
			}
			output(t, nil, program(t, "openssl", "openssl"), "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", e.caFile, leaf)
		})
	}
}
