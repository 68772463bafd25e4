package pii

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, Title, Policy string
	Crossing          struct {
		Response struct{ Type, Text string }
	}
	Expect struct {
		Observe struct {
			Categories []string
			Findings   int
			Class      string
			Gaps       []string
		}
	}
}

// TestVectorsO48 runs the screened texts of every policy.json below the folder
// that WAYLEAVE_VECTORS names, or below testdata/vectors, on which the detector
// is on and can run.
func TestVectorsO48(t *testing.T) {
	count := 0
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "policy.json", vectors.Group("screen")) {
		want := v.Expect.Observe
		if !strings.Contains(v.Policy, "pii: on") || v.Crossing.Response.Text == "" || want.Class == "service" || len(want.Gaps) > 0 {
			continue
		}
		count++
		t.Run(v.ID, func(t *testing.T) {
			findings, _ := Scan([]byte(v.Crossing.Response.Text))
			var categories []string
			for _, f := range findings {
				categories = append(categories, f.Category)
			}
			if want.Findings > 0 && len(findings) != want.Findings {
				t.Errorf("%s: %d findings, want %d", v.Title, len(findings), want.Findings)
			}
			slices.Sort(categories)
			slices.Sort(want.Categories)
			if diff := cmp.Diff(want.Categories, slices.Compact(categories), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v.Title, diff)
			}
		})
	}
	if count == 0 {
		t.Error("no case was run")
	}
}
