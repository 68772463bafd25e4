package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/wayleave/wayleave/rulings"
)

// policyOf reads the YAML of a policy as far as the vectors write it.
func policyOf(t testing.TB, text, mode string) rulings.PolicyFile {
	t.Helper()
	var written map[string]any
	must(t, yaml.Unmarshal([]byte(text), &written))
	f := rulings.PolicyFile{Mode: mode}
	parts := map[string]any{
		"hosts": &f.Hosts, "required_licence": &f.RequiredLicence, "tunnels": &f.Tunnels, "allow_private": &f.AllowPrivate,
		"allowances": &f.Allowances, "purposes": &f.Purposes,
	}
	for key, value := range written {
		switch key {
		case "services":
			readServices(t, &f, value.([]any))
		case "screens":
			readScreens(t, &f.Screens, value.(map[string]any))
		case "caps":
			caps := value.(map[string]any)
			f.Caps = rulings.CapsFile{BodyBytes: octets(caps["body_bytes"]), ContextBytes: octets(caps["context_bytes"])}
		default:
			into, ok := parts[key]
			if !ok {
				t.Fatalf("a policy has %q, which is not read here", key)
			}
			recode(t, value, into)
		}
	}
	return f
}

func recode(t testing.TB, value, into any) {
	t.Helper()
	text, err := json.Marshal(value)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

func readServices(t testing.TB, f *rulings.PolicyFile, list []any) {
	for _, item := range list {
		var terms rulings.ServiceFile
		host, plain := item.(string)
		if !plain {
			m := item.(map[string]any)
			host = m["host"].(string)
			recode(t, m, &terms)
		}
		f.Services, f.ServiceTerms = append(f.Services, host), append(f.ServiceTerms, terms)
	}
}

// readScreens reads on and off, which YAML takes for truth values where they may
// be such.
func readScreens(t testing.TB, f *rulings.ScreensFile, m map[string]any) {
	for key, into := range map[string]*string{"injection": &f.Injection, "pii": &f.PII, "extract": &f.Extract, "scope": &f.Scope} {
		switch value := m[key].(type) {
		case string:
			*into = value
		case bool:
			*into = map[bool]string{true: "on", false: "off"}[value]
		}
	}
	f.LimitBytes = octets(m["limit_bytes"])
	if m["exempt"] != nil {
		recode(t, m["exempt"], &f.Exempt)
	}
}

func octets(value any) int64 {
	switch v := value.(type) {
	case int:
		return int64(v)
	case string:
		var n int64
		if _, err := fmt.Sscanf(v, "%d", &n); err != nil {
			return 0
		}
		for unit, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
			if strings.HasSuffix(v, unit) {
				n *= size
			}
		}
		return n
	}
	return 0
}
