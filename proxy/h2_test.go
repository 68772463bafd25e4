package proxy

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// An h2Conn is one end of an HTTP/2 connection of which a test writes and reads
// the frames itself.
type h2Conn struct {
	*http2.Framer
	net.Conn
	t   testing.TB
	buf bytes.Buffer
	enc *hpack.Encoder

	authority string // of a client's requests
	stream    uint32 // the next one a client opens
}

func newH2(t testing.TB, c net.Conn) *h2Conn {
	h := &h2Conn{Framer: http2.NewFramer(c, c), Conn: c, t: t, stream: 1}
	h.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.enc = hpack.NewEncoder(&h.buf)
	return h
}

// h2 opens a tunnel to the source at addr and speaks HTTP/2 in it.
func (e *testEdge) h2(addr string) *h2Conn {
	e.t.Helper()
	host, _, err := net.SplitHostPort(addr)
	must(e.t, err)
	tunnel, err := e.tunnel(addr)
	must(e.t, err)
	e.t.Cleanup(func() { tunnel.Close() })
	c := tls.Client(tunnel, &tls.Config{RootCAs: e.roots, ServerName: host, NextProtos: []string{"h2"}})
	must(e.t, c.Handshake())
	h := newH2(e.t, c)
	h.authority = addr
	_, err = c.Write([]byte(http2.ClientPreface))
	must(e.t, err)
	must(e.t, h.WriteSettings())
	return h
}

// head writes a HEADERS frame with fields given as name, value, name, value.
func (h *h2Conn) head(stream uint32, end bool, fields ...string) {
	h.t.Helper()
	h.buf.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		must(h.t, h.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	block := h.buf.Bytes()
	first := block[:min(len(block), 16<<10)]
	must(h.t, h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first, EndStream: end, EndHeaders: len(first) == len(block)}))
	for block = block[len(first):]; len(block) > 0; block = block[min(len(block), 16<<10):] {
		must(h.t, h.WriteContinuation(stream, len(block) <= 16<<10, block[:min(len(block), 16<<10)]))
	}
}

// do sends a bodiless request and reads its answer: the status, the fields and
// the body, or status 0 and the code of a stream that was reset, or what ended
// the connection.
func (h *h2Conn) do(method, target string, fields ...string) (status int, header http.Header, body string) {
	h.t.Helper()
	id := h.stream
	h.stream += 2
	h.head(id, true, append([]string{":method", method, ":scheme", "https", ":authority", h.authority, ":path", target}, fields...)...)
	return h.answer(id)
}

// answer reads frames until stream has ended.
func (h *h2Conn) answer(stream uint32) (status int, header http.Header, body string) {
	h.t.Helper()
	header = make(http.Header)
	for {
		f, err := h.ReadFrame()
		if err != nil {
			return 0, header, err.Error()
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				must(h.t, h.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				must(h.t, h.WritePing(true, f.Data))
			}
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				if field.Name == ":status" {
					status, _ = strconv.Atoi(field.Value)
					continue
				}
				header.Add(field.Name, field.Value)
			}
		case *http2.DataFrame:
			body += string(f.Data())
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return 0, header, f.ErrCode.String()
			}
		}
		if ends, ok := f.(interface{ StreamEnded() bool }); ok && f.Header().StreamID == stream && ends.StreamEnded() {
			return status, header, body
		}
	}
}
