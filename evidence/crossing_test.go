package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wayleave/wayleave/rulings"
)

func TestCrossingE9E12E14E15E16HasExactlyTheMembersThatApply(t *testing.T) {
	always := []string{"edge", "grade", "class", "client.session", "client.protocol", "client.address", "client.user_agent",
		"method", "url", "purposes", "identity.product_tokens", "policy_digest", "ruleset"}
	ruled := []string{"declarations.terms", "declarations.robots.wayleave.token", "declarations.robots.wayleave.group",
		"declarations.robots.wayleave.wildcard", "declarations.robots.wayleave.rule", "declarations.robots.wayleave.line", "declarations.effective.ai-input"}
	sent := []string{"outcome", "licence.state", "address", "identity.user_agent", "requested_at", "bytes.up", "timings.ruling"}
	answered := []string{"http_status", "http_version", "bytes.down", "timings.first_byte", "content_type"}
	whole := []string{"retrieved_hash", "retrieved_bytes", "content_hash", "content_bytes", "delivered.bytes", "delivered.complete"}

	// before is a crossing that has been ruled and not sent.
	before := func() *Crossing {
		c := typical()
		return &Crossing{Grade: Mediated, Class: rulings.Source, Client: c.Client, Method: "GET", URL: c.URL,
			Purposes: c.Purposes, Identity: Identity{ProductTokens: c.Identity.ProductTokens}, PolicyDigest: c.PolicyDigest, Ruleset: c.Ruleset,
			Ruled: true, Terms: c.Terms, Ruling: c.Ruling}
	}
	started := func() *Crossing {
		c := before()
		c.Address, c.Identity.UserAgent, c.RequestedAt, c.Up = "203.0.113.7:443", "x", time.Unix(0, 0), Counted(0)
		c.Timings.Ruling = time.Nanosecond
		return c
	}
	head := func() *Crossing {
		c := started()
		c.HTTPStatus, c.HTTPVersion, c.Down, c.ContentType = 200, "HTTP/1.1", Counted(0), "text/html"
		c.Timings.FirstByte = time.Millisecond
		return c
	}
	body := func() *Crossing {
		c := head()
		c.Outcome = Delivered
		c.RetrievedHash, c.ContentHash = rulings.Digest{1}, rulings.Digest{1}
		c.Delivered = &Delivery{Complete: Yes}
		return c
	}

	for name, row := range map[string]struct {
		record  Record
		event   string
		members [][]string
	}{
		"opened": {CrossingOpened{before()}, EventCrossingOpened, [][]string{always, ruled}},
		"refused before it was sent": {CrossingEnded{edit(before(), func(c *Crossing) {
			c.Outcome = Refused
			c.Refusal = Refusal{rulings.RobotsDisallow, rulings.WhoseSource, rulings.StageBefore, "why", rulings.TermRef{Object: rulings.Digest{1}, Line: 3}}
			c.Told = Told{Status: 403, Reason: rulings.RobotsDisallow, Detail: rulings.Say("why"), RetryAt: time.Unix(9, 0)}
		})}, EventCrossingRefused, [][]string{always, ruled, {"outcome", "licence.state", "grounded", "refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail",
			"refusal.term.object", "refusal.term.line", "told.status", "told.reason", "told.detail", "told.retry_at"}}},
		"refused without a term to point at": {CrossingEnded{edit(before(), func(c *Crossing) {
			c.Outcome, c.Ruled, c.Terms, c.Ruling = Refused, false, nil, nil
			c.PolicyDigest, c.PolicyUnavailable = rulings.Digest{}, "it does not load"
			c.Refusal = Refusal{Reason: rulings.PolicyUnavailable, Whose: rulings.WhoseOperator, Stage: rulings.StageBefore, Detail: "why"}
		})}, EventCrossingRefused, [][]string{without(always, "policy_digest"), {"policy_unavailable", "outcome", "licence.state", "grounded",
			"refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail"}}},
		"the dial failed": {CrossingEnded{edit(started(), func(c *Crossing) {
			c.Outcome, c.Address = Unavailable, ""
			c.Failure = Failure{"connection_refused", "refused"}
			c.Gaps = []Gap{{DependencyUnavailable, "203.0.113.7: connect"}}
			c.Told = Told{Status: 502, Reason: rulings.ConnectionRefused, Detail: rulings.Say("no")}
		})}, EventCrossingMediated, [][]string{always, ruled, without(sent, "address"), {"failure.kind", "failure.detail", "gaps", "told.status", "told.reason", "told.detail"}}},
		"HEAD, 204 and 304 have no body and no hash": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.HTTPStatus, c.Delivered = Delivered, 304, &Delivery{Complete: Yes}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"delivered.bytes", "delivered.complete"}}},
		"an empty body has the hash of nothing and length 0": {CrossingEnded{body()}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole}},
		"a reused connection has no connect time": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Timings.Body = time.Second
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"timings.body"}}},
		"a new connection has": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Timings.DNS, c.Timings.Connect, c.Timings.TLS = 1, 1, 1
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"timings.dns", "timings.connect", "timings.tls"}}},
		"an unknown coding leaves the content hash out": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.ContentHash, c.ContentCoding = rulings.Digest{}, "zstd2"
			c.Gaps = []Gap{{CapabilityUnavailable, "the coding is not known"}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, without(whole, "content_hash", "content_bytes"), {"content_coding", "gaps"}}},
		"a replay was not sent (O65)": {CrossingEnded{edit(before(), func(c *Crossing) {
			c.Outcome, c.ServedFrom, c.HTTPStatus, c.Down, c.ContentType = Delivered, ServedFrom{digestText("recording"), 3}, 200, Counted(0), "text/html"
			c.RetrievedHash, c.ContentHash, c.Delivered = rulings.Digest{1}, rulings.Digest{1}, &Delivery{Complete: Yes}
		})}, EventCrossingMediated, [][]string{always, ruled, {"outcome", "licence.state", "served_from.recording", "served_from.n"},
			without(answered, "http_version", "timings.first_byte"), whole}},
		"cut by the upstream": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.Opened = Cut, 7
			c.Failure = Failure{"http_response_incomplete", "EOF"}
			c.Delivered = &Delivery{Bytes: 3, Complete: No, Hash: rulings.Digest{1}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"opened", "failure.kind", "failure.detail", "delivered.bytes", "delivered.complete", "delivered.hash"}}},
		"abandoned by the client": {CrossingEnded{edit(head(), func(c *Crossing) {
			c.Outcome, c.Opened, c.Delivered = Abandoned, 7, &Delivery{Complete: No}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, {"opened", "delivered.bytes", "delivered.complete"}}},
		"a close-delimited body cannot show that it is complete": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Delivered.Complete = Unknown
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, without(whole, "delivered.complete")}},
		"the fetcher was refused": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Challenge = Challenge{Status: 403}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"challenge.status"}}},
		"a service has no identity, purposes, licence or terms": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Class, c.Ruled, c.Terms, c.Ruling = rulings.Service, false, nil, nil
		})}, EventCrossingMediated, [][]string{without(always, "purposes", "identity.product_tokens"),
			without(sent, "licence.state", "identity.user_agent"), answered, whole}},
		"a tunnel that was not read": {CrossingEnded{&Crossing{Grade: Observed, Class: rulings.Service, Outcome: Delivered, Opened: 2, Authority: "git.example:443",
			Client: Client{Session: "s", Protocol: "tunnel", Address: "127.0.0.1:1", UserAgent: "git"}, PolicyDigest: rulings.Digest{1}, Address: "203.0.113.7:443",
			Up: Counted(5), Down: Counted(6), Gaps: []Gap{{CapabilityUnavailable, "not read"}}, Timings: Timings{Connect: 1}}},
			EventCrossingObserved, [][]string{without(always, "method", "url", "purposes", "identity.product_tokens", "ruleset"),
				{"authority", "outcome", "opened", "address", "bytes.up", "bytes.down", "gaps", "timings.connect"}}},
		"turned away before it could be ruled": {CrossingEnded{&Crossing{Grade: Mediated, Outcome: Refused, Client: Client{Address: "127.0.0.1:1"}, Repeated: 40,
			Refusal: Refusal{Reason: rulings.CredentialsRequired, Whose: rulings.WhoseEdge, Stage: rulings.StageBefore, Detail: "none"}}},
			EventCrossingRefused, [][]string{{"edge", "grade", "outcome", "client.address", "grounded", "repeated", "refusal.reason", "refusal.whose", "refusal.stage", "refusal.detail"}}},
		"a term object that could not be kept": {CrossingEnded{edit(body(), func(c *Crossing) {
			c.Terms = []rulings.Term{{Kind: rulings.TermRobots, Unwritten: true}}
		})}, EventCrossingMediated, [][]string{always, ruled, sent, answered, whole, {"gaps"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.record.Event(); got != row.event {
				t.Errorf("event %s, want %s", got, row.event)
			}
			want := slices.Sorted(slices.Values(slices.Concat(row.members...)))
			if diff := cmp.Diff(want, members(checkLine(t, encodeLine(t, row.record)))); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func edit(c *Crossing, change func(*Crossing)) *Crossing {
	change(c)
	return c
}

func without(list []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(names, s) })
}

func TestCrossingE8E17WritesValuesInTheirForms(t *testing.T) {
	payload := checkLine(t, encodeLine(t, CrossingEnded{typical()}))
	for path, want := range map[string]any{
		"requested_at":                          "2026-03-01T12:00:00.005Z",
		"http_status":                           200.0,
		"bytes.up":                              0.0,
		"timings.ruling":                        0.012,
		"timings.first_byte":                    41.0,
		"policy_digest":                         "sha256:01" + strings.Repeat("0", 62),
		"declarations.terms.0.kind":             "robots",
		"declarations.terms.0.outcome":          "read",
		"declarations.terms.0.cache":            "reused",
		"declarations.terms.0.status":           200.0,
		"declarations.terms.0.expires_at":       "2026-03-01T13:00:00.005Z",
		"declarations.terms.0.object":           "sha256:02" + strings.Repeat("0", 62),
		"declarations.robots.wayleave.rule":     "Allow: /2026/",
		"declarations.robots.wayleave.line":     12.0,
		"declarations.robots.wayleave.wildcard": true,
		"declarations.effective.ai-input":       "unknown",
		"licence.state":                         "unknown",
		"delivered.complete":                    true,
		"identity.product_tokens.0":             "wayleave",
	} {
		if got := lookUp(payload, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

// Of a file that was read in part the record says how large the whole is, where
// that is known (T15).
func TestCrossingT15WritesTheSizeOfAFileThatIsTruncated(t *testing.T) {
	for _, c := range []struct {
		truncated bool
		size      int64
		want      any
	}{{true, 600_000, 600_000.0}, {true, 0, nil}, {false, 500, nil}} {
		crossing := typical()
		crossing.Terms[0].Truncated, crossing.Terms[0].Size = c.truncated, c.size
		payload := checkLine(t, encodeLine(t, CrossingEnded{crossing}))
		if got := lookUp(payload, "declarations.terms.0.size"); got != c.want {
			t.Errorf("%+v: size = %v", c, got)
		}
	}
}

// lookUp returns what stands at path in v, nil where there is nothing.
func lookUp(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			if fmt.Sscan(name, &i); i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}
