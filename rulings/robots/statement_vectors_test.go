package robots_test

import (
	"encoding/base64"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A statementVector is a case of content_usage.json, content_signal.json, or of
// kind training.
type statementVector struct {
	ID, About string
	Robots    string
	Tokens    []string
	Target    string
	Fields    []string
	FieldsB64 []string `json:"fields_b64"`
	Expect    struct {
		Statements map[string]string
		Parses     *bool
		Access     string
	}
}

func (v statementVector) fields(t *testing.T) []string {
	lines := v.Fields
	for _, text := range v.FieldsB64 {
		line, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}

// statementVectors reads those of every file of a name below the folder that
// WAYLEAVE_VECTORS names, or below testdata/vectors.
func statementVectors(t *testing.T, name string) []statementVector {
	t.Helper()
	return vectors.Read[statementVector](t, os.Getenv("WAYLEAVE_VECTORS"), name, vectors.OfKind("", "training"))
}

// runStatements runs v. ask gives what the lines of the file say of the page in
// words, by purpose.
func runStatements(t *testing.T, v statementVector, fields map[string]string, ask func(*robots.File, robots.Selection, *robots.Page) map[string]string) {
	f := robots.Parse([]byte(v.Robots))
	s, p := f.Select(v.Tokens, ""), robots.NewPage(v.Target)
	access := s.Access(p)
	refused := access.Refused != nil || access.OverLimit
	if refused != (v.Expect.Access == "refuse") {
		t.Errorf("%s: access %+v", v.About, access)
	}
	got := map[string]string{"ai-input": "unknown", "ai-train": "unknown", "ai-index": "unknown", "search": "unknown"}
	said := []map[string]string{fields}
	if !refused { // else nothing is stated (T43)
		said = append(said, ask(f, s, p))
	}
	for _, words := range said { // pooled (T107)
		for purpose, word := range words {
			if word == "disallow" || word == "allow" && got[purpose] == "unknown" {
				got[purpose] = word
			}
		}
	}
	if diff := cmp.Diff(v.Expect.Statements, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", v.About, diff)
	}
}

func TestVectorsT46ToT50(t *testing.T) {
	for _, v := range statementVectors(t, "content_usage.json") {
		t.Run(v.ID, func(t *testing.T) {
			field, parses := contentusage.ParseFields(v.fields(t))
			if v.Expect.Parses != nil && parses != *v.Expect.Parses {
				t.Errorf("%s: parses: %v", v.About, parses)
			}
			runStatements(t, v, usageWords(field), func(f *robots.File, s robots.Selection, p *robots.Page) map[string]string {
				return usageWords(usageOf(s, p, readUsage(f)))
			})
		})
	}
}

func TestVectorsT51ToT55(t *testing.T) {
	for _, v := range statementVectors(t, "content_signal.json") {
		t.Run(v.ID, func(t *testing.T) {
			field := contentsignal.ParseFields(v.fields(t))
			runStatements(t, v, signalWords(field), func(f *robots.File, s robots.Selection, p *robots.Page) map[string]string {
				return signalWords(signalOf(s, p, readSignals(f)))
			})
		})
	}
}

func TestVectorsT99(t *testing.T) {
	for _, v := range statementVectors(t, "tdm_and_others.json") {
		t.Run(v.ID, func(t *testing.T) {
			runStatements(t, v, nil, func(_ *robots.File, s robots.Selection, p *robots.Page) map[string]string {
				return map[string]string{"ai-train": word(s.Training(p).Says)}
			})
		})
	}
}
