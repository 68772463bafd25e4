package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

const demoSession = "demo"

// demoPatience bounds one crossing of the demo; on loopback it takes milliseconds.
const demoPatience = 30 * time.Second

// A demoRow is what came of one visit.
type demoRow struct {
	demoVisit
	url     string
	outcome evidence.Outcome // as the record says
	reason  rulings.Reason
	number  uint64
	// answered says that only the answer refuses, which ask does not see.
	answered bool
	fault    string // what is not as it should be; empty when all is
}

// demoRows makes every visit through the edge and compares what the agent got,
// what the log says and what ask answers.
func (e *edge) demoRows(ctx context.Context, web *demoWeb) ([]demoRow, error) {
	client, err := e.demoClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	rows := make([]demoRow, len(demoVisits))
	for i, v := range demoVisits {
		rows[i] = demoRow{demoVisit: v, url: web.origins[v.host] + v.path}
		rows[i].fault = visit(ctx, client, rows[i])
	}
	recorded, err := e.demoRecords()
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if err := e.compare(ctx, &rows[i], recorded); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// demoClient is an agent as 'wayleave env' would set it up.
func (e *edge) demoClient() (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(e.authority.PEM()) {
		return nil, fmt.Errorf("the CA of the edge is no certificate")
	}
	return &http.Client{
		Timeout: demoPatience,
		Transport: &http.Transport{
			Proxy:           http.ProxyURL(proxyURL(e.at.Proxy, demoSession, "")),
			TLSClientConfig: &tls.Config{RootCAs: roots},
		},
	}, nil
}

// visit asks for one page and says what of the answer is not as it should be.
func visit(ctx context.Context, client *http.Client, row demoRow) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, row.url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	if row.want == "" {
		return checkPage(row.demoVisit, resp.StatusCode, string(body))
	}
	var told struct {
		Reason rulings.Reason `json:"reason"`
	}
	if err := json.Unmarshal(body, &told); err != nil || told.Reason != row.want {
		return fmt.Sprintf("the agent was told %d %s", resp.StatusCode, told.Reason)
	}
	return ""
}

// checkPage compares a delivered body with what the site serves.
func checkPage(v demoVisit, status int, body string) string {
	want := demoPage(v.host, v.path)
	switch v.path {
	case "/big":
		want = string(demoBig)
	case "/events":
		want = "data: event 1\n\ndata: event 2\n\ndata: event 3\n\n"
	}
	if status != http.StatusOK || body != want {
		return fmt.Sprintf("the agent got %d and %d octets of %d", status, len(body), len(want))
	}
	return ""
}

// demoRecord is what the demo reads of a crossing's final record.
type demoRecord struct {
	Seq     uint64 `json:"seq"`
	Payload struct {
		URL     string           `json:"url"`
		Outcome evidence.Outcome `json:"outcome"`
		Opened  uint64           `json:"opened"`
		Refusal struct {
			Reason rulings.Reason `json:"reason"`
			Stage  rulings.Stage  `json:"stage"`
		} `json:"refusal"`
	} `json:"payload"`
}

// demoRecords reads the log of the demo's session, by URL.
func (e *edge) demoRecords() (map[string]demoRecord, error) {
	page, err := e.index.Crossings(evidence.Query{Session: demoSession, Limit: evidence.MaxLimit})
	if err != nil {
		return nil, fmt.Errorf("reading the evidence: %w", err)
	}
	records := make(map[string]demoRecord, len(page.Items))
	for _, item := range page.Items {
		var r demoRecord
		if err := json.Unmarshal(item.Record, &r); err != nil {
			return nil, fmt.Errorf("reading the evidence: %w", err)
		}
		records[r.Payload.URL] = r
	}
	return records, nil
}

// compare fills in what the log says of a visit and asks for the ruling anew.
func (e *edge) compare(ctx context.Context, row *demoRow, recorded map[string]demoRecord) error {
	asked, err := e.explain(ctx, explainGet(row.url))
	if err != nil {
		return err
	}
	r, ok := recorded[row.url]
	row.outcome, row.reason, row.number = r.Payload.Outcome, r.Payload.Refusal.Reason, r.Seq
	row.answered = r.Payload.Refusal.Stage == rulings.StageHead || r.Payload.Refusal.Stage == rulings.StageBody
	if r.Payload.Opened > 0 {
		row.number = r.Payload.Opened // a crossing is called by its first record (E12)
	}
	switch {
	case row.fault != "":
	case !ok:
		row.fault = "there is no record of it"
	case row.reason != row.want:
		row.fault = fmt.Sprintf("the record says %s", orDash(string(row.reason)))
	case rulings.Reason(asked.Reason) != row.want && !row.answered:
		row.fault = fmt.Sprintf("ask says %s %s", asked.Outcome, asked.Reason)
	}
	return nil
}
