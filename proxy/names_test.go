package proxy

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// The standard library's resolver asks a name server of the tests', so that
// names lead to loopback or to addresses nothing may be sent to, and so that a
// test can see which names were asked for.
func init() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return &nameConn{}, nil
	}}
}

// zone is what the name server knows. Every other name does not exist, but for
// slow.test, whose answer never comes.
var zone = map[string]string{
	"site.test.":           "127.0.0.1",
	"other.test.":          "127.0.0.1",
	"allowed.test.":        "127.0.0.1",
	"blocked.test.":        "127.0.0.1",
	"tunnel.test.":         "127.0.0.1",
	"xn--mnchen-3ya.test.": "127.0.0.1",
	"corpus.internal.":     "127.0.0.1",
	"six.test.":            "::1",
	"private.test.":        "10.1.2.3",
	"metadata.test.":       "169.254.169.254",
	// 10.1.2.3 behind a translator (RFC 6052)
	"nat64.test.": "64:ff9b::a01:203",
}

const slowName = "slow.test."

// asked are the names the resolver was asked for, each once a question.
var asked struct {
	sync.Mutex
	names []string
}

// wasAsked reports whether anybody wanted to know name, which ends in a dot.
func wasAsked(name string) bool {
	asked.Lock()
	defer asked.Unlock()
	return slices.Contains(asked.names, name)
}

// A nameConn is a connection to the name server: a question written to it can
// be answered by reading (RFC 1035 4.2.2, messages behind their length).
type nameConn struct {
	question, answer []byte
	silent           bool
}

func (c *nameConn) Write(p []byte) (int, error) {
	c.question = append(c.question, p...)
	if len(c.question) < 2 {
		return len(p), nil
	}
	if n := int(binary.BigEndian.Uint16(c.question)); len(c.question) >= 2+n {
		msg := c.answerTo(c.question[2 : 2+n])
		c.answer = append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
	}
	return len(p), nil
}

func (c *nameConn) Read(p []byte) (int, error) {
	if c.silent {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, c.answer)
	if c.answer = c.answer[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *nameConn) answerTo(query []byte) []byte {
	var q dnsmessage.Message
	if err := q.Unpack(query); err != nil || len(q.Questions) != 1 {
		return nil
	}
	name := q.Questions[0].Name.String()
	asked.Lock()
	asked.names = append(asked.names, name)
	asked.Unlock()
	c.silent = name == slowName
	q.Response, q.Authoritative, q.RecursionAvailable, q.Additionals = true, true, true, nil
	literal, known := zone[name]
	if !known {
		q.RCode = dnsmessage.RCodeNameError
	} else if addr := netip.MustParseAddr(literal); addr.Is4() == (q.Questions[0].Type == dnsmessage.TypeA) {
		var body dnsmessage.ResourceBody = &dnsmessage.AAAAResource{AAAA: addr.As16()}
		if addr.Is4() {
			body = &dnsmessage.AResource{A: addr.As4()}
		}
		head := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET, Type: q.Questions[0].Type}
		q.Answers = []dnsmessage.Resource{{Header: head, Body: body}}
	}
	msg, err := q.Pack()
	if err != nil {
		panic(err)
	}
	return msg
}

func (*nameConn) Close() error                     { return nil }
func (*nameConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*nameConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*nameConn) SetDeadline(time.Time) error      { return nil }
func (*nameConn) SetReadDeadline(time.Time) error  { return nil }
func (*nameConn) SetWriteDeadline(time.Time) error { return nil }

// The name server of the tests answers as its zone says.
func TestTheNamesOfTheTestsResolve(t *testing.T) {
	for name, want := range zone {
		got, err := net.DefaultResolver.LookupHost(context.Background(), name)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, %v; want %s", name, got, err, want)
		}
	}
}
