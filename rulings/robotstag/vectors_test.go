package robotstag

import (
	"os"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings/htmlhead"
)

type vector struct {
	ID, About   string
	Tokens      []string
	XRobotsTag  []string `json:"x_robots_tag"`
	HTML        string
	ContentType string `json:"content_type"`
	Expect      struct{ Statements map[string]string }
}

// TestVectorsT98 runs the cases of kind xrobots in every tdm_and_others.json
// below the folder that WAYLEAVE_VECTORS names, or below testdata/vectors. The
// other kinds are those of other packages.
func TestVectorsT98(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("xrobots")) {
		t.Run(v.ID, func(t *testing.T) {
			all := []Rules{Parse(v.XRobotsTag, v.Tokens)}
			head, err := htmlhead.Read(strings.NewReader(v.HTML), htmlhead.Options{Tokens: v.Tokens})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range head.Metas {
				if r, ok := ParseMeta(m.Name, m.Content, v.Tokens); ok {
					all = append(all, r)
				}
			}
			got := statements(all, v.ContentType)
			for purpose, want := range v.Expect.Statements {
				if got[purpose] != want {
					t.Errorf("%s: %s is %s, want %s", v.About, purpose, got[purpose], want)
				}
			}
		})
	}
}

// statements are what rules say of the four purposes, pooled.
func statements(all []Rules, contentType string) map[string]string {
	said := map[string]string{"ai-input": "unknown", "ai-train": "unknown", "ai-index": "unknown", "search": "unknown"}
	for _, r := range all {
		if r.NoAI || r.NoImageAI && strings.HasPrefix(strings.ToLower(contentType), "image/") {
			said["ai-input"], said["ai-train"], said["ai-index"] = "disallow", "disallow", "disallow"
		}
		if r.DisallowAITraining {
			said["ai-train"] = "disallow"
		}
	}
	return said
}
