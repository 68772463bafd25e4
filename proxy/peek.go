package proxy

import "golang.org/x/net/http/httpguts"

// What a tunnel can carry.
type content uint8

const (
	contentOther content = iota
	contentTLS
	contentHTTP
)

// maxMethod bounds how long a method is waited for. No registered one has 20.
const maxMethod = 64

// peek reads as much as tells what the tunnel carries, and keeps it. TLS begins
// with a handshake record (RFC 8446 5.1), HTTP with a token and a space.
func (c *tunnelConn) peek() (content, error) {
	for {
		if kind, known := contentOf(c.early); known {
			return kind, nil
		}
		var buf [maxMethod]byte
		n, err := c.Conn.Read(buf[:])
		c.early = append(c.early, buf[:n]...)
		if err != nil && n == 0 {
			if !isTimeout(err) {
				c.tunnel.clientLeft.Store(true)
			}
			return contentOther, err
		}
	}
}

func contentOf(b []byte) (kind content, known bool) {
	const handshakeRecord = 0x16
	if len(b) > 0 && b[0] == handshakeRecord {
		return contentTLS, true
	}
	for i, ch := range b {
		switch {
		case ch == ' ' && i > 0:
			return contentHTTP, true
		case i >= maxMethod || !httpguts.IsTokenRune(rune(ch)):
			return contentOther, true
		}
	}
	return contentOther, false
}
