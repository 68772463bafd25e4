package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// checkExplains compares what the running edge explains of URLs, without asking
// anybody, with what ask --no-fetch --json prints: explains URL...
func checkExplains(ts *testscript.TestScript, _ bool, args []string) {
	for _, url := range args {
		// Exit code 3 says that the answer hangs on terms that are not held.
		_ = ts.Exec("wayleave", "ask", "--no-fetch", "--json", "--config", "web/wayleave.yaml", "--data", "data", url)
		printed := decodeJSON(ts, []byte(ts.ReadFile("stdout")))
		question, err := json.Marshal(map[string]any{"url": url, "fetch": false})
		ts.Check(err)
		req, err := http.NewRequest(http.MethodPost, "http://"+ts.Getenv("ADMIN")+"/v1/explain", bytes.NewReader(question))
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(ts.Getenv("TOKEN"))))
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(resp.Body)
		ts.Check(err)
		if diff := cmp.Diff(printed, decodeJSON(ts, body.Bytes())); resp.StatusCode != http.StatusOK || diff != "" {
			ts.Fatalf("%s: status %d, -ask +explain:\n%s", url, resp.StatusCode, diff)
		}
	}
}

func decodeJSON(ts *testscript.TestScript, text []byte) (v any) {
	ts.Check(json.Unmarshal(text, &v))
	return v
}
