package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/proxy"
)

// Limits of the admin listener. Answers may be streams, so writing has none.
const (
	deskHeaderWait = 10 * time.Second
	deskIdle       = 90 * time.Second
)

// desk makes the server of the admin API.
func (e *edge) desk() (*http.Server, error) {
	token, err := admin.LoadToken(tokenFile(e.cfg.data))
	if err != nil {
		return nil, err
	}
	o := admin.Options{
		Token: token, Index: e.index, Status: e.status, Ready: e.ready, Explain: e.explain, Object: e.book.Object,
		Hosts: e.hosts, Host: e.host, Refresh: e.refresh,
		Policy: e.policyNow,
		CA:     e.authority.PEM(), Gatherer: e.metrics, OpenMetrics: e.cfg.openMetrics, Via: proxy.Pseudonym(e.id), Logger: e.log,
	}
	if host, _, err := net.SplitHostPort(e.cfg.adminListen); err == nil && host != "" {
		o.Names = []string{host}
	}
	if e.source.read != nil { // an edge of one command reads its configuration once
		o.CheckPolicy, o.ReloadPolicy, o.Simulate = e.checkPolicy, e.reloadPolicy, e.simulate
	}
	if e.credentials != nil {
		o.Issue = e.credentials.Issue
	}
	handler, err := admin.New(o)
	if err != nil {
		return nil, err
	}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: deskHeaderWait, IdleTimeout: deskIdle,
		ErrorLog: slog.NewLogLogger(e.log.Handler(), slog.LevelDebug),
	}, nil
}

// status is how the edge does right now (A5).
func (e *edge) status() admin.Status {
	owing := each(e.store.Healthy()) // one error for each log
	s := admin.Status{
		Edge: e.id, Version: version(), Started: e.started, Execution: e.execution(),
		Listen:   admin.Listen{Proxy: e.at.Proxy, Admin: e.at.Admin},
		Evidence: admin.EvidenceStatus{Complete: len(owing) == 0, Owed: len(owing), Records: e.store.Owed()},
		Stores:   append([]admin.StoreStatus{{Name: "evidence", Healthy: len(owing) == 0}}, e.storeStatus()...),

		Allowances: e.allowanceStatus(),
	}
	if policy := e.policy.Load(); policy != nil {
		s.PolicyDigest = policy.Digest().String()
	} else {
		s.PolicyUnavailable = errNoPolicy.Error()
	}
	return s
}

// What keeps an edge from being ready.
var (
	errNotServing = errors.New("the listeners are not open")
	errNoPolicy   = errors.New("the policy does not load")
)

// ready is nil while the edge serves, its policy loads, no log owes evidence, and
// pace and terms can be kept (N25, O3, E30).
func (e *edge) ready() error {
	switch {
	case !e.serving.Load():
		return errNotServing
	case e.policy.Load() == nil:
		return errNoPolicy
	}
	return errors.Join(e.store.Healthy(), e.pacingHealthy(), e.book.Healthy())
}

// nowhere is a host that nobody has (RFC 6761 6.4). Its pace is looked at to see
// whether the store of the pace answers.
const nowhere = "store.invalid"

// pacingHealthy returns why the pacing store does not answer; nil where it does,
// or where nothing is paced.
func (e *edge) pacingHealthy() error {
	pacing := e.paced()
	if pacing == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthPatience)
	defer cancel()
	if _, _, err := pacing.Store.Look(ctx, nowhere); err != nil || e.cfg.paceStore.url != nil {
		return err
	}
	err := durable.Usable(backoffDir(e.cfg.data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is made when a host first has a pace
	}
	return err
}

// storeStatus is the health of what is kept beside the evidence (A5).
func (e *edge) storeStatus() (list []admin.StoreStatus) {
	if e.paced() != nil {
		s := admin.StoreStatus{Name: "pacing", Healthy: e.pacingHealthy() == nil}
		if !s.Healthy {
			s.Detail = "the pacing store does not answer, so requests that it paces are refused"
		}
		list = append(list, s)
	}
	s := admin.StoreStatus{Name: "terms", Healthy: e.book.Healthy() == nil}
	if !s.Healthy {
		s.Detail = "what sources say cannot be kept"
	}
	return append(append(list, s), e.ledgerStatus()...)
}

// askEdge asks a running edge's admin API. The caller closes the answer.
func askEdge(ctx context.Context, found ready, method, path string, question []byte) (*http.Response, error) {
	token, err := os.ReadFile(found.Token)
	if err != nil {
		return nil, fmt.Errorf("reading the admin token: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+reachable(found.Admin)+path, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	return direct.Do(req)
}

// statusAt asks a running edge how it does.
func statusAt(ctx context.Context, found ready) (status admin.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	resp, err := askEdge(ctx, found, http.MethodGet, "/v1/status", nil)
	if err != nil {
		return status, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&status); err != nil || resp.StatusCode != http.StatusOK {
		return status, errors.New(resp.Status)
	}
	return status, nil
}

// owesAt asks a running edge whether it owes evidence. It cannot be asked of one
// session, so a run is told of what another one's log lacks as well.
func owesAt(ctx context.Context, found ready) error {
	status, err := statusAt(ctx, found)
	if err != nil {
		return fmt.Errorf("asking the edge whether evidence is owed: %w", err)
	}
	if !status.Evidence.Complete {
		return fmt.Errorf("%w: %d logs of the running edge lack records", evidence.ErrOwed, status.Evidence.Owed)
	}
	return nil
}

// issueAt asks a running edge for a session's token. Under auth: open there is
// none to have, which is no error.
func issueAt(ctx context.Context, found ready, session string) (secret, error) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	question, err := json.Marshal(map[string]string{"session": session})
	if err != nil {
		return "", err
	}
	resp, err := askEdge(ctx, found, http.MethodPost, "/v1/sessions", question)
	if err != nil {
		return "", fmt.Errorf("asking the edge for a token: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated:
		var issued struct {
			Token secret `json:"token"`
		}
		err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&issued)
		return issued.Token, err
	case http.StatusConflict, http.StatusForbidden:
		return "", nil
	}
	return "", fmt.Errorf("asking the edge for a token: %s", resp.Status)
}
