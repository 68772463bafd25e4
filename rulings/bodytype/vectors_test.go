package bodytype

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, Title, Policy string
	Crossing          struct {
		Response response
	}
	Expect struct {
		Observe struct {
			Reason, Class string
			Gaps          []string
		}
	}
}

type response struct {
	Type, Length, Text, Coding string
	Bytes                      int64
	CodedBytes                 int64 `json:"coded_bytes"`
	Status                     int
}

func (r response) head() Head {
	h := Head{Status: r.Status, Types: []string{r.Type}, Length: r.Bytes}
	if h.Status == 0 {
		h.Status = 200
	}
	if r.Coding != "" {
		h.Codings, h.Length = []string{r.Coding}, r.CodedBytes
	}
	if r.Length == "unknown" {
		h.Length = -1
	}
	return h
}

// content is the body itself, or a harmless one of its size.
func (r response) content() []byte {
	if r.Text != "" {
		return []byte(r.Text)
	}
	return []byte(strings.Repeat("x", int(r.Bytes)))
}

var limitBytes = regexp.MustCompile(`limit_bytes: (\S+)`)

// TestVectorsO37O41O44 runs the cases of screens and of textless answers in every
// policy.json below the folder that WAYLEAVE_VECTORS names, or below
// testdata/vectors, as far as one answer alone decides them: not those of exempt
// types, of services and of broken screens, nor those of a length that shows only
// while the body comes.
func TestVectorsO37O41O44(t *testing.T) {
	count := map[string]int{}
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "policy.json", vectors.Group("screen", "text")) {
		want := v.Expect.Observe
		switch {
		case want.Class == "service", strings.Contains(v.Policy, "exempt"), slices.Contains(want.Gaps, "dependency_unavailable"):
		case strings.HasPrefix(v.ID, "text-") && strings.Contains(v.Policy, "context_bytes"):
			count["text"]++
			t.Run(v.ID, func(t *testing.T) {
				r := v.Crossing.Response
				if got := Textless(r.head()) || Blank(r.content()); got != (want.Reason == "no_text") {
					t.Errorf("%s: textless %v, want reason %q", v.Title, got, want.Reason)
				}
			})
		case regexp.MustCompile(`(injection|pii): on`).MatchString(v.Policy):
			r, to := v.Crossing.Response, limitOf(t, v.Policy)
			if r.Bytes > to && (r.Length == "unknown" || r.Coding != "") {
				continue
			}
			count["screen"]++
			t.Run(v.ID, func(t *testing.T) {
				got := ByHead(r.head(), to).ByContent(r.content())
				if got.Readable() != !slices.Contains(want.Gaps, "capability_unavailable") {
					t.Errorf("%s: %+v, want gaps %q", v.Title, got, want.Gaps)
				}
			})
		}
	}
	for _, kind := range []string{"text", "screen"} {
		if count[kind] == 0 {
			t.Errorf("no case of kind %s", kind)
		}
	}
}

func limitOf(t *testing.T, policy string) int64 {
	m := limitBytes.FindStringSubmatch(policy)
	if m == nil {
		return limit
	}
	var n int64
	if err := json.Unmarshal([]byte(strings.Trim(m[1], ",}")), &n); err != nil {
		t.Fatalf("limit_bytes: %s", m[1])
	}
	return n
}
