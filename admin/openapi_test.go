package admin

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// A document is the part of OpenAPI 3.1 that openapi.json uses.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]schema
		Responses map[string]response
	}
}

type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   schema
	}
	RequestBody *struct {
		Content map[string]struct{ Schema schema }
	}
	Responses map[string]response
	Security  *[]any
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema schema }
}

// A schema is the part of JSON Schema that openapi.json uses.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Required             []string
	Properties           map[string]schema
	AdditionalProperties *additional
	Items                *schema
	Enum                 []string
	OneOf                []schema
	Pattern              string
	Minimum              *float64
	Maximum              *float64

	Description, Format string
	Default             any
}

// additional is false, true or a schema.
type additional struct {
	allowed bool
	schema  *schema
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *additional) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.allowed) == nil {
		return nil
	}
	a.allowed, a.schema = true, new(schema)
	return json.Unmarshal(raw, a.schema)
}

func readDocument(t *testing.T) (d document) {
	t.Helper()
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	if d.OpenAPI != "3.1.0" || len(d.Paths) == 0 {
		t.Fatalf("version %q, %d paths", d.OpenAPI, len(d.Paths))
	}
	return d
}

// resolve follows a reference.
func (d document) resolve(t *testing.T, s schema) schema {
	t.Helper()
	if s.Ref == "" {
		return s
	}
	found, ok := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	if !ok {
		t.Fatalf("%s leads nowhere", s.Ref)
	}
	return found
}

func (d document) response(t *testing.T, r response) response {
	t.Helper()
	if r.Ref == "" {
		return r
	}
	found, ok := d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	if !ok {
		t.Fatalf("%s leads nowhere", r.Ref)
	}
	return found
}

// faults holds value against s and returns what does not fit.
func (d document) faults(t *testing.T, at string, s schema, value any) (out []string) {
	t.Helper()
	s = d.resolve(t, s)
	fault := func(format string, args ...any) { out = append(out, at+": "+fmt.Sprintf(format, args...)) }
	if len(s.OneOf) > 0 {
		fits := 0
		for _, one := range s.OneOf {
			if len(d.faults(t, at, one, value)) == 0 {
				fits++
			}
		}
		if fits != 1 {
			fault("fits %d alternatives", fits)
		}
		return out
	}
	switch v := value.(type) {
	case map[string]any:
		if s.Type != "object" {
			fault("is an object")
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				fault("lacks %s", name)
			}
		}
		for name, member := range v {
			property, ok := s.Properties[name]
			if !ok && s.AdditionalProperties != nil {
				if !s.AdditionalProperties.allowed {
					fault("has %s, which is not described", name)
				}
				if property = (schema{}); s.AdditionalProperties.schema != nil {
					property, ok = *s.AdditionalProperties.schema, true
				}
			}
			if ok {
				out = append(out, d.faults(t, at+"."+name, property, member)...)
			}
		}
	case []any:
		if s.Type != "array" || s.Items == nil {
			fault("is a list")
			return out
		}
		for i, item := range v {
			out = append(out, d.faults(t, fmt.Sprintf("%s[%d]", at, i), *s.Items, item)...)
		}
	case string:
		if s.Type != "string" || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			fault("is %q", v)
		}
	case float64:
		if s.Type != "integer" || v != math.Trunc(v) || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			fault("is %v", v)
		}
	case bool:
		if s.Type != "boolean" {
			fault("is %v", v)
		}
	default:
		fault("is null")
	}
	return out
}

// The checker sees what it is there to see.
func TestOpenAPICheckerFindsFaults(t *testing.T) {
	doc := readDocument(t)
	good := `{"session":"s","state":"open","records":1,"segments":1,"bytes":1,"crossings":{"mediated":{"cut":1}},"unended":0,"gaps":{},"completeness":{"damaged":0}}`
	tests := []struct{ name, from, to string }{
		{"a member is missing", `"records":1,`, ``},
		{"a member is not described", `"records":1`, `"records":1,"more":1`},
		{"a member has another type", `"records":1`, `"records":"1"`},
		{"a number is not whole", `"records":1`, `"records":1.5`},
		{"a member is null", `"records":1`, `"records":null`},
		{"a word is not one of the list", `"open"`, `"opened"`},
		{"a pattern does not fit", `"s"`, `"../s"`},
		{"a value of a map has another type", `"cut":1`, `"cut":[]`},
		{"a member of a reference is missing", `"damaged":0`, ``},
	}
	check := func(text string) []string {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return doc.faults(t, "body", schema{Ref: "#/components/schemas/Session"}, value)
	}
	if found := check(good); len(found) > 0 {
		t.Errorf("what is right has %q", found)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if len(check(strings.Replace(good, tt.from, tt.to, 1))) != 1 {
				t.Error("it is not found")
			}
		})
	}
}

// Every route is described and every description has a route.
func TestOpenAPIA6DescribesTheRoutes(t *testing.T) {
	doc := readDocument(t)
	handler := newWorld(t, nil).server.Config.Handler.(*chi.Mux)
	routed := make(map[string]bool)
	err := chi.Walk(handler, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed[strings.ToLower(method)+" "+route] = true
		return nil
	})
	if err != nil || len(routed) == 0 {
		t.Fatalf("%d routes, error %v", len(routed), err)
	}
	ids := make(map[string]bool)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if key := method + " " + path; !routed[key] {
				t.Errorf("%s is described and not routed", key)
			} else {
				delete(routed, key)
			}
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s has the operation id %q", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
			for _, p := range op.Parameters {
				if p.In == "path" && (!p.Required || !strings.Contains(path, "{"+p.Name+"}")) {
					t.Errorf("%s %s has no %s in its path", method, path, p.Name)
				}
			}
			for status, r := range op.Responses {
				for kind := range doc.response(t, r).Content {
					if (status >= "400") != (kind == "application/problem+json") {
						t.Errorf("%s %s answers %s with %s", method, path, status, kind)
					}
				}
			}
		}
	}
	for key := range routed {
		t.Errorf("%s is routed and not described", key)
	}
}

// The query parameters described are those that are known.
func TestOpenAPIA6DescribesTheParameters(t *testing.T) {
	doc := readDocument(t)
	want := map[string][]string{
		"/v1/crossings": slices.Concat(listParameters, filterParameters, []string{"outcome"}),
		"/v1/refusals":  slices.Concat(listParameters, filterParameters),
		"/v1/gaps":      slices.Concat(listParameters, gapParameters),
		"/v1/sessions":  listParameters,
		"/v1/hosts":     slices.Concat(listParameters, hostParameters),
	}
	for path, methods := range doc.Paths {
		var got []string
		for _, p := range methods["get"].Parameters {
			if p.In == "query" {
				got = append(got, p.Name)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want[path]))) {
			t.Errorf("%s has the parameters %q, want %q", path, got, want[path])
		}
	}
}

// Real answers are what the document says: status, type, members and their types.
func TestOpenAPIA6DescribesTheAnswers(t *testing.T) {
	doc := readDocument(t)
	w := newWorld(t, nil)
	plantGaps(w)
	w.write("damaged", "nonsense\n"+crossingLine(1, "b.test")+"\n"+crossingLine(2, "b.test")[:40])
	w.record("agent-1", evidence.CrossingUndelivered{Crossing: w.streamed, Bytes: 5, Failure: evidence.Failure{Kind: "reset"}})
	w.write("breached", `{"seq":1,"timestamp":"2026-03-04T05:06:07.089Z","event":"crossing_mediated","payload":{"breach":[{"reason":"tunnel_not_listed"}]}}`+"\n")
	none := strings.Repeat("ab", 32)
	calls := []struct {
		method, route, path, body string
		status                    int
	}{
		{"get", "/healthz", "/healthz", "", 200},
		{"get", "/readyz", "/readyz", "", 200},
		{"get", "/ca.pem", "/ca.pem", "", 200},
		{"get", "/metrics", "/metrics", "", 200},
		{"get", "/v1/openapi.json", "/v1/openapi.json", "", 200},
		{"get", "/v1/openapi.json", "/v1/openapi.json?x=1", "", 400},
		{"get", "/v1/status", "/v1/status", "", 200},
		{"get", "/v1/crossings", "/v1/crossings", "", 200},
		{"get", "/v1/crossings", "/v1/crossings?limit=1", "", 200},
		{"get", "/v1/crossings", "/v1/crossings?limit=x", "", 400},
		{"get", "/v1/refusals", "/v1/refusals", "", 200},
		{"get", "/v1/crossings/{session}/{seq}", fmt.Sprintf("/v1/crossings/agent-1/%d", w.refused), "", 200},
		{"get", "/v1/crossings/{session}/{seq}", fmt.Sprintf("/v1/crossings/agent-1/%d", w.streamed), "", 200},
		{"get", "/v1/crossings/{session}/{seq}", "/v1/crossings/breached/1", "", 200},
		{"get", "/v1/crossings/{session}/{seq}", "/v1/crossings/agent-1/999", "", 404},
		{"get", "/v1/crossings/{session}/{seq}", "/v1/crossings/agent-1/x", "", 400},
		{"get", "/v1/gaps", "/v1/gaps", "", 200},
		{"get", "/v1/gaps", "/v1/gaps?session=gaps&limit=1", "", 200},
		{"get", "/v1/gaps", "/v1/gaps?host=a.test", "", 400},
		{"get", "/v1/sessions", "/v1/sessions", "", 200},
		{"get", "/v1/sessions", "/v1/sessions?limit=1", "", 200},
		{"post", "/v1/sessions", "/v1/sessions", `{}`, 201},
		{"post", "/v1/sessions", "/v1/sessions", `{"session":5}`, 400},
		{"get", "/v1/sessions/{session}", "/v1/sessions/agent-1", "", 200},
		{"get", "/v1/sessions/{session}", "/v1/sessions/damaged", "", 200},
		{"get", "/v1/sessions/{session}", "/v1/sessions/absent", "", 404},
		{"get", "/v1/sessions/{session}/log", "/v1/sessions/agent-1/log", "", 200},
		{"get", "/v1/hosts", "/v1/hosts", "", 200},
		{"get", "/v1/hosts", "/v1/hosts?limit=1&waiting=true", "", 200},
		{"get", "/v1/hosts", "/v1/hosts?waiting=false", "", 400},
		{"get", "/v1/hosts/{host}", "/v1/hosts/paced.test", "", 200},
		{"get", "/v1/hosts/{host}", "/v1/hosts/absent.test", "", 404},
		{"get", "/v1/hosts/{host}", "/v1/hosts/a..test", "", 400},
		{"post", "/v1/hosts/{host}/refresh", "/v1/hosts/paced.test/refresh", "", 200},
		{"post", "/v1/hosts/{host}/refresh", "/v1/hosts/absent.test/refresh", "", 404},
		{"post", "/v1/hosts/{host}/refresh", "/v1/hosts/service.test/refresh", "", 409},
		{"get", "/v1/terms/{sha256}", "/v1/terms/" + w.object()[7:], "", 200},
		{"get", "/v1/terms/{sha256}", "/v1/terms/" + none, "", 404},
		{"post", "/v1/explain", "/v1/explain", `{"url":"https://a.test/"}`, 200},
		{"post", "/v1/explain", "/v1/explain", `{"url":""}`, 400},
		{"post", "/v1/simulate", "/v1/simulate", `{"policy":{"mode":"strict"},"session":"agent-1","from":"2026-01-01T00:00:00Z","limit":5}`, 200},
		{"post", "/v1/simulate", "/v1/simulate", `{"policy":"mode: strickt"}`, 422},
		{"post", "/v1/simulate", "/v1/simulate", `{"limit":0}`, 400},
		{"get", "/v1/policy", "/v1/policy", "", 200},
		{"post", "/v1/policy/check", "/v1/policy/check", `{}`, 200},
		{"post", "/v1/policy/check", "/v1/policy/check", `{"policy":"mode: strickt"}`, 200},
		{"post", "/v1/policy/check", "/v1/policy/check", `{"policy":5}`, 400},
		{"post", "/v1/policy/reload", "/v1/policy/reload", "", 200},
	}
	called := make(map[string]bool)
	for _, c := range calls {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			op, ok := doc.Paths[c.route][c.method]
			if !ok {
				t.Fatal("it is not described")
			}
			a := w.ask(strings.ToUpper(c.method), c.path, c.body, nil)
			if a.StatusCode != c.status {
				t.Fatalf("status %d, want %d: %s", a.StatusCode, c.status, a.body)
			}
			doc.holdAgainst(t, op, a)
			called[c.method+" "+c.route] = called[c.method+" "+c.route] || c.status < 300
		})
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if !called[method+" "+path] {
				t.Errorf("%s %s was not called", method, path)
			}
		}
	}
}

// holdAgainst checks an answer against its description.
func (d document) holdAgainst(t *testing.T, op operation, a answer) {
	t.Helper()
	r, ok := op.Responses[fmt.Sprint(a.StatusCode)]
	if !ok {
		t.Fatalf("status %d is not described", a.StatusCode)
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	content, ok := d.response(t, r).Content[kind]
	if !ok {
		t.Fatalf("type %q is not described", kind)
	}
	if kind != "application/json" && kind != "application/problem+json" {
		return
	}
	var value any
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatal(err)
	}
	for _, fault := range d.faults(t, "body", content.Schema, value) {
		t.Error(fault)
	}
}

// Bodies that are described are taken.
func TestOpenAPIA11DescribesTheQuestion(t *testing.T) {
	doc := readDocument(t)
	for name, kind := range map[string]any{"ExplainRequest": explainBody{}, "SessionRequest": sessionRequest{}, "PolicyDraft": policyDraft{}, "SimulateRequest": simulateBody{}} {
		raw, err := json.Marshal(kind)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for member := range members {
			if _, ok := doc.Components.Schemas[name].Properties[member]; !ok {
				t.Errorf("%s.%s is taken and not described", name, member)
			}
		}
		for member := range doc.Components.Schemas[name].Properties {
			if _, ok := members[member]; !ok {
				t.Errorf("%s.%s is described and not taken", name, member)
			}
		}
	}
	for _, r := range []rulings.Whose{rulings.WhoseSource, rulings.WhoseOperator, rulings.WhoseEdge, rulings.WhoseUpstream} {
		if !slices.Contains(doc.Components.Schemas["Explanation"].Properties["whose"].Enum, string(r)) {
			t.Errorf("%s is not described", r)
		}
	}
}
