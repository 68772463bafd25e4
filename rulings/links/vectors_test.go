package links

import (
	"encoding/base64"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, About, Page string
	Fields          []string
	FieldsB64       []string `json:"fields_b64"`
	FieldsParts     []struct {
		S string
		N int
	} `json:"fields_parts"`
	Expect struct {
		Licences *[]string
		Unread   *int
	}
}

// lines are the field lines of v, whichever way they are spelled.
func (v vector) lines(t *testing.T) []string {
	lines := v.Fields
	for _, octets := range v.FieldsB64 {
		decoded, err := base64.StdEncoding.DecodeString(octets)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(decoded))
	}
	if v.FieldsParts != nil {
		var b strings.Builder
		for _, p := range v.FieldsParts {
			b.WriteString(strings.Repeat(p.S, p.N))
		}
		lines = append(lines, b.String())
	}
	return lines
}

// TestVectorsT59ToT64 runs every link.json below the folder that WAYLEAVE_VECTORS
// names, or below testdata/vectors.
func TestVectorsT59ToT64(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "link.json", nil) {
		t.Run(v.ID, func(t *testing.T) {
			page, err := url.Parse(v.Page)
			if err != nil {
				t.Fatal(err)
			}
			got := Licences(page, v.lines(t))
			if want := v.Expect.Licences; want != nil {
				if diff := cmp.Diff(*want, got.Licences, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: licences (-want +got):\n%s", v.About, diff)
				}
			}
			if want := v.Expect.Unread; want != nil && *want != len(got.Unread) {
				t.Errorf("%s: unread %q, want %d", v.About, got.Unread, *want)
			}
		})
	}
}
