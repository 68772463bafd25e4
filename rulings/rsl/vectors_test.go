package rsl_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings/rsl"
)

type selectVector struct {
	ID, About string
	Entries   []string
	Windows   struct{ Width, Count int }
	Nested    struct{ Step, Count int }
	Repeat    struct {
		URL   string
		Count int
	}
	Page   string
	Expect struct {
		Governs      *[][]int
		GovernsCount *int `json:"governs_count"`
		Cost         *int64
		Unread       *string
	}
}

// urls returns the entries of v, those that are generated from the page's path
// included.
func (v selectVector) urls() []string {
	_, rest, _ := strings.Cut(v.Page, "://")
	p := rest[strings.IndexByte(rest, '/'):]
	urls := append([]string{}, v.Entries...)
	for i := range v.Windows.Count {
		urls = append(urls, "/*"+p[1+i:1+i+v.Windows.Width]+"*")
	}
	for i := range v.Nested.Count {
		urls = append(urls, p[:1+(i+1)*v.Nested.Step])
	}
	for range v.Repeat.Count {
		urls = append(urls, v.Repeat.URL)
	}
	return urls
}

// TestVectorsT78ToT84 runs every rsl_select.json below the folder that
// WAYLEAVE_VECTORS names, or below testdata/vectors.
func TestVectorsT78ToT84(t *testing.T) {
	for _, v := range vectors.Read[selectVector](t, os.Getenv("WAYLEAVE_VECTORS"), "rsl_select.json", nil) {
		t.Run(v.ID, v.run)
	}
}

func (v selectVector) run(t *testing.T) {
	t.Log(v.About)
	s := selectFor(t, parse(t, withEntries(v.urls()...)), v.Page)
	if v.Expect.Governs != nil {
		if diff := cmp.Diff(*v.Expect.Governs, s.Governs, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("governs (-want +got):\n%s", diff)
		}
	}
	if n := v.Expect.GovernsCount; n != nil {
		got := 0
		for _, entries := range s.Governs {
			got += len(entries)
		}
		if len(s.Governs) > 1 || got != *n {
			t.Errorf("%d entries govern in %d selections, want %d", got, len(s.Governs), *n)
		}
	}
	if v.Expect.Cost != nil && s.Cost != *v.Expect.Cost {
		t.Errorf("cost %d, want %d", s.Cost, *v.Expect.Cost)
	}
	if v.Expect.Unread != nil && s.Unread != *v.Expect.Unread {
		t.Errorf("unread %q, want %q", s.Unread, *v.Expect.Unread)
	}
}

type termsVector struct {
	ID, About string
	RSL       string
	RSLB64    string `json:"rsl_b64"`
	RSLParts  []struct {
		S string
		N int
	} `json:"rsl_parts"`
	Page     string
	Purpose  string
	Operator struct {
		User      []string
		Geo       string
		Reporting []string
	}
	Expect struct {
		State, Cause, Outcome, Reason *string
		Offer                         *int
		Prohibits, Restricted         *[]int
		Payment                       *struct {
			Type             string
			Amount, Currency *string
		}
		Duties *[]string
	}
}

func (v termsVector) body(t *testing.T) []byte {
	octets, err := base64.StdEncoding.DecodeString(v.RSLB64)
	if err != nil {
		t.Fatal(err)
	}
	body := v.RSL + string(octets)
	for _, part := range v.RSLParts {
		body += strings.Repeat(part.S, part.N)
	}
	return []byte(body)
}

// TestVectorsT71ToT93 runs every rsl_terms.json below the folder that
// WAYLEAVE_VECTORS names, or below testdata/vectors.
func TestVectorsT71ToT93(t *testing.T) {
	for _, v := range vectors.Read[termsVector](t, os.Getenv("WAYLEAVE_VECTORS"), "rsl_terms.json", nil) {
		t.Run(v.ID, v.run)
	}
}

func (v termsVector) run(t *testing.T) {
	t.Log(v.About)
	state, cause := "read", ""
	var got rsl.Verdict
	d, err := rsl.Parse(v.body(t))
	if err == nil {
		op := rsl.Operator{UserClasses: v.Operator.User, Country: v.Operator.Geo, Reporting: v.Operator.Reporting}
		s := selectFor(t, d, v.Page)
		got = d.RuleAll(s, v.Purpose, op)
		cause = s.Unread
	} else {
		cause = string(err.(*rsl.Fault).Cause)
		got = rsl.Verdict{Outcome: rsl.Refuse, Reason: rsl.ReasonUnread}
	}
	if cause != "" {
		state = "unread"
	}
	same(t, "state", v.Expect.State, state)
	same(t, "cause", v.Expect.Cause, cause)
	same(t, "outcome", v.Expect.Outcome, got.Outcome.String())
	same(t, "reason", v.Expect.Reason, got.Reason)
	same(t, "offer", v.Expect.Offer, got.Offer)
	same(t, "prohibits", v.Expect.Prohibits, got.Prohibits)
	same(t, "restricted", v.Expect.Restricted, got.Restricted)
	same(t, "duties", v.Expect.Duties, got.Duties)
	if want := v.Expect.Payment; want != nil {
		if got.Payment == nil {
			t.Fatal("no payment is owed")
		}
		same(t, "payment type", &want.Type, got.Payment.Type)
		for _, c := range []struct {
			name, got string
			want      *string
		}{{"amount", got.Payment.Amount, want.Amount}, {"currency", got.Payment.Currency, want.Currency}} {
			if c.want == nil {
				c.want = new(string) // unknown
			}
			same(t, c.name, c.want, c.got)
		}
	}
}

// same compares one member that a vector expects, if it does.
func same[T any](t *testing.T, member string, want *T, got T) {
	t.Helper()
	if want == nil {
		return
	}
	if diff := cmp.Diff(*want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", member, diff)
	}
}
