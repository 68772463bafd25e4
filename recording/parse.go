package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxManifest = 64 << 20 // octets

// The members of the manifest and of an exchange (O62).
var (
	manifestMembers = []string{"format", "created_at", "ruleset", "exchanges"}
	exchangeMembers = []string{"n", "kind", "method", "url", "request_sha256", "captured_at", "head", "head_sha256", "body", "body_sha256", "body_bytes"}
)

// parseManifest reads a manifest strictly and returns its exchanges and every
// fault. An exchange with a fault is returned as far as it can be read.
func parseManifest(text []byte) (all []Exchange, faults []Fault) {
	c := &checker{}
	root, err := parseJSON(text)
	var at *lineError
	switch {
	case errors.As(err, &at):
		c.fault(at.line, "%s", at.what)
		return nil, c.faults
	case err != nil:
		c.fault(0, "%v", err)
		return nil, c.faults
	case !root.isObject():
		c.fault(root.line, "it is not an object")
		return nil, c.faults
	}
	m := c.object(root, manifestMembers, nil)
	if format := c.text(m, "format"); format != Format {
		// What another format means by its members is not known here.
		c.faults = nil
		c.fault(root.line, "its format is %q and must be %q", format, Format)
		return nil, c.faults
	}
	c.instant(m, "created_at")
	c.text(m, "ruleset")
	list := m["exchanges"]
	if list == nil || !list.isArray() {
		c.fault(root.line, "it has no list of exchanges")
		return nil, c.faults
	}
	for i, item := range list.items {
		all = append(all, c.exchange(i+1, item))
	}
	return all, c.faults
}

// A checker collects the faults of a manifest.
type checker struct {
	faults []Fault
	x      Exchange // the one being read; N is 0 outside of one
}

func (c *checker) fault(line int, format string, args ...any) {
	f := Fault{File: manifestName, Line: line, N: c.x.N, Method: c.x.Method, What: fmt.Sprintf(format, args...)}
	if c.x.N > 0 {
		f.Host = c.x.Host()
	}
	c.faults = append(c.faults, f)
}

// object returns the members of n by name. A name that is unknown or stands there
// twice is a fault, and one that is missing unless it is optional.
func (c *checker) object(n *node, known, optional []string) map[string]*node {
	members := map[string]*node{}
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.name):
			c.fault(m.line, "unknown member %q, known are %s", m.name, strings.Join(known, ", "))
		case members[m.name] != nil:
			c.fault(m.line, "member %s stands there twice", m.name)
		default:
			members[m.name] = m.value
		}
	}
	for _, name := range known {
		if members[name] == nil && !slices.Contains(optional, name) {
			c.fault(n.line, "member %s is missing", name)
		}
	}
	return members
}

// text returns a member that has to be a string with something in it.
func (c *checker) text(m map[string]*node, name string) string {
	n := m[name]
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok || s == "" {
		c.fault(n.line, "member %s is no text", name)
	}
	return s
}

func (c *checker) instant(m map[string]*node, name string) time.Time {
	n, s := m[name], c.text(m, name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(instantForm, s)
	if err != nil || t.Format(instantForm) != s {
		c.fault(n.line, "member %s is no instant such as 2026-03-01T12:00:00.000Z", name)
	}
	return t
}

func (c *checker) count(m map[string]*node, name string) int64 {
	n := m[name]
	if n == nil {
		return 0
	}
	number, _ := n.value.(json.Number)
	v, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || v < 0 {
		c.fault(n.line, "member %s is no count", name)
	}
	return v
}

// form faults a member that is there and not in its form.
func (c *checker) form(m map[string]*node, name string, ok bool, want string) {
	if n := m[name]; n != nil && !ok {
		if s, is := n.value.(string); is && s != "" { // else it was told of
			c.fault(n.line, "member %s is not %s", name, want)
		}
	}
}

// exchange reads the nth exchange.
func (c *checker) exchange(nth int, n *node) Exchange {
	c.x = Exchange{N: nth}
	defer func() { c.x = Exchange{} }()
	if !n.isObject() {
		c.fault(n.line, "it is not an object")
		return c.x
	}
	// What names the exchange is read first, so that every fault can name it.
	for _, m := range n.members {
		s, _ := m.value.value.(string)
		switch m.name {
		case "method":
			c.x.Method = s
		case "url":
			c.x.URL = s
		}
	}
	m := c.object(n, exchangeMembers, []string{"request_sha256", "head", "head_sha256", "body", "body_sha256", "body_bytes"})
	x := Exchange{N: nth, Kind: Kind(c.text(m, "kind")), Method: c.text(m, "method"), URL: c.text(m, "url"),
		RequestSHA256: c.text(m, "request_sha256"), CapturedAt: c.instant(m, "captured_at"),
		Head: c.text(m, "head"), HeadSHA256: c.text(m, "head_sha256"),
		Body: c.text(m, "body"), BodySHA256: c.text(m, "body_sha256"), BodyBytes: c.count(m, "body_bytes")}
	if v := c.count(m, "n"); m["n"] != nil && v != int64(nth) {
		c.fault(m["n"].line, "its n is %d and must be %d", v, nth)
	}
	c.form(m, "kind", validKind(x.Kind), "page, robots, licence or other")
	c.form(m, "method", isToken(x.Method), "a method")
	c.form(m, "url", ValidURL(x.URL), "an absolute http or https URL without user and fragment")
	for _, sum := range [][2]string{{"request_sha256", x.RequestSHA256}, {"head_sha256", x.HeadSHA256}, {"body_sha256", x.BodySHA256}} {
		c.form(m, sum[0], digestForm.MatchString(sum[1]), "sha256: and 64 lower-case hex digits")
	}
	c.halves(m, n)
	c.form(m, "head", localPath(x.Head), fmt.Sprintf("a path inside the recording: %q", x.Head))
	c.form(m, "body", localPath(x.Body), fmt.Sprintf("a path inside the recording: %q", x.Body))
	return x
}

// halves faults a head or body that is not whole, or lacks the other.
func (c *checker) halves(m map[string]*node, n *node) {
	switch {
	case m["head"] == nil && m["body"] == nil:
		c.fault(n.line, "it has no head and no body")
		return
	case m["head"] == nil:
		c.fault(n.line, "it has a body and no head")
	case m["body"] == nil:
		c.fault(n.line, "it has a head and no body")
	}
	for _, half := range [][]string{{"head", "head_sha256"}, {"body", "body_sha256", "body_bytes"}} {
		for _, name := range half[1:] {
			if m[half[0]] != nil && m[name] == nil {
				c.fault(n.line, "its %s has no %s", half[0], name)
			}
			if m[half[0]] == nil && m[name] != nil {
				c.fault(m[name].line, "it has a %s and no %s", name, half[0])
			}
		}
	}
}

// localPath reports whether p, with slashes, names something below a directory, in
// the one spelling that does.
func localPath(p string) bool {
	return p != "" && p != "." && path.Clean(p) == p && filepath.IsLocal(filepath.FromSlash(p)) && !strings.ContainsAny(p, "\\\x00")
}
