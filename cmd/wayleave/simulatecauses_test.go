package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/rulings"
)

// causes crosses pages under one policy and returns what of them a draft leaves
// untold.
func causes(t *testing.T, before, draft, page string) (admin.Simulation, *simulateWorld) {
	t.Helper()
	w := newSimulateWorld(t, "policy: "+before+"\n")
	w.pages = []string{strings.Replace(w.site.URL, "127.0.0.1", "localhost", 1) + page}
	w.crossAll()
	return w.simulate(draft), w
}

// What the record cannot tell is counted with its cause.
func TestA12WhatTheRecordCannotTellIsNotGuessed(t *testing.T) {
	const open = "allow_private: [127.0.0.0/8]"
	for _, c := range []struct{ name, before, draft, page, cause string }{
		{"terms of a host that was refused before they were asked for", "{" + open + ", hosts: {deny: [localhost]}, mode: strict}", "{" + open + "}", "/short", causeTerms},
		{"terms of a host that was a service", "{" + open + ", services: [localhost]}", "{" + open + "}", "/short", causeTerms},
		{"another purpose for a page whose licence was not asked for", "{" + open + "}", "{" + open + ", services: [localhost]}", "/closed", ""},
		{"an address that was refused when it was dialled", "{allow_private: [192.168.77.0/24], services: [localhost]}", "{" + open + ", services: [localhost]}", "/short", causeAddress},
		{"the same, of a host that the draft names", "{allow_private: [192.168.77.0/24], services: [localhost]}", "{allow_private: [localhost], services: [localhost]}", "/short", ""},
		{"terms of other hosts, on which the draft has another word", "{" + open + "}", "{" + open + ", hosts: {deny: [127.0.0.1]}}", "/short", causeHops},
		{"screens that did not run", "{" + open + "}", "{" + open + ", screens: {injection: on}}", "/short", causeScreens},
		{"screens that read less", "{" + open + ", screens: {injection: on}}", "{" + open + ", screens: {injection: on, limit_bytes: 100}}", "/short", causeScreens},
		{"context that was not counted", "{" + open + "}", "{" + open + ", caps: {context_bytes: 100000}}", "/short", causeContext},
		{"context, of a budget that is smaller", "{" + open + ", caps: {context_bytes: 100000}}", "{" + open + ", caps: {context_bytes: 50000}}", "/short", causeContext},
		{"context, of a budget that is larger", "{" + open + ", caps: {context_bytes: 100000}}", "{" + open + ", caps: {context_bytes: 200000}}", "/short", ""},
		{"how large a body is that was broken off", "{" + open + ", caps: {body_bytes: 1000}, mode: strict}", "{" + open + ", caps: {body_bytes: 2000}, mode: strict}", "/long", causeBodySize},
		{"money, of an allowance that is the same", "{" + open + `, services: [{host: localhost, price: {amount: "1", currency: USD}}], allowances: [{name: a, user: "*", period: day, amount: "1", currency: USD}], mode: strict}`, "{" + open + `, services: [{host: localhost, price: {amount: "1", currency: USD}}], allowances: [{name: a, user: "*", period: day, amount: "1", currency: USD}], mode: strict}`, "/short", ""},
		{"money that was short, in a mode that refuses", "{" + open + `, services: [{host: localhost, price: {amount: "1", currency: USD}}], allowances: [{name: a, user: "*", period: day, amount: "0.5", currency: USD}], mode: observe}`, "{" + open + `, services: [{host: localhost, price: {amount: "1", currency: USD}}], allowances: [{name: a, user: "*", period: day, amount: "0.5", currency: USD}], mode: strict}`, "/short", ""},
		{"money of a price nobody knows, in a mode that refuses", "{" + open + `, services: [{host: localhost, price: unknown}], allowances: [{name: a, user: "*", period: day, amount: "1", currency: USD}], mode: observe}`, "{" + open + `, services: [{host: localhost, price: unknown}], allowances: [{name: a, user: "*", period: day, amount: "1", currency: USD}], mode: strict}`, "/short", causeAllowances},
		{"money that was not counted", "{" + open + ", services: [localhost]}", "{" + open + `, services: [{host: localhost, price: {amount: "1", currency: USD}}], allowances: [{name: a, user: "*", period: day, amount: "1", currency: USD}]}`, "/short", causeAllowances},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]int{}
			if c.cause != "" {
				want[c.cause] = 1
			}
			got, _ := causes(t, c.before, c.draft, c.page)
			if diff := cmp.Diff(want, got.NotSimulated); diff != "" || got.Crossings != 1 {
				t.Errorf("%d crossings, %+v (-want +got):\n%s", got.Crossings, got, diff)
			}
		})
	}
}

// What certainly refuses is told whatever else is not known.
func TestA12WhatRefusesIsToldWhateverElseIsNotKnown(t *testing.T) {
	const open = "allow_private: [127.0.0.0/8]"
	got, _ := causes(t, "{"+open+"}", "{"+open+", hosts: {deny: [localhost]}, screens: {injection: on}, caps: {context_bytes: 5000}, mode: strict}", "/short")
	if got.NewlyRefused.Count != 1 || got.NewlyRefused.Reasons[rulings.HostDenied] != 1 || len(got.NotSimulated) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestA12APathThatStandsReplacedIsNotGuessed(t *testing.T) {
	const open = "allow_private: [127.0.0.0/8]"
	got, w := causes(t, "{"+open+"}", "{"+open+", purposes: [search]}", "/short?token="+strings.Repeat("s3cret", 4))
	if got.NotSimulated[causeReplaced] != 1 {
		t.Errorf("%+v", got)
	}
	got = w.simulate("{" + open + ", hosts: {deny: [localhost]}, mode: strict}")
	if got.NewlyRefused.Count+got.NotSimulated[causeReplaced] != 1 {
		t.Errorf("%+v", got)
	}
	for _, x := range got.NewlyRefused.Examples {
		if strings.Contains(x.URL, "s3cret") {
			t.Errorf("an example has %s", x.URL)
		}
	}
}

func TestA12TermsThatAreGoneAreNotGuessed(t *testing.T) {
	const open = "allow_private: [127.0.0.0/8]"
	w := newSimulateWorld(t, "policy: {"+open+"}\n")
	w.crossAll()
	w.bookHas("127.0.0.1", "localhost") // it writes behind the crossings, this one last
	objects := w.edge.cfg.data + "/terms/objects"
	entries, err := os.ReadDir(objects)
	mustDo(t, err)
	for _, e := range entries {
		mustDo(t, os.Remove(objects+"/"+e.Name()))
	}
	got := w.simulate("{" + open + ", purposes: [search]}")
	if diff := cmp.Diff(map[string]int{"object_missing": len(w.pages)}, got.NotSimulated); diff != "" {
		t.Error(diff)
	}
}

// Sessions, windows and pages select, and nothing is counted twice or left out.
func TestA12TheCrossingsAreSelected(t *testing.T) {
	w := newSimulateWorld(t, "policy: {allow_private: [127.0.0.0/8]}\n")
	w.crossAll()
	begun := time.Now().UTC().Add(time.Hour).Format(time.RFC3339)
	for _, c := range []struct {
		filter string
		want   int
	}{
		{`"session":"s"`, len(w.pages)}, {`"session":"nobody"`, 0}, {`"to":"` + begun + `"`, len(w.pages)}, {`"from":"` + begun + `"`, 0},
	} {
		var got admin.Simulation
		if w.ask(http.MethodPost, "/v1/simulate", `{"policy":{},`+c.filter+`}`, &got); got.Crossings != c.want {
			t.Errorf("%s: %d crossings, want %d", c.filter, got.Crossings, c.want)
		}
	}
	seen, pages := 0, 0
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		var got admin.Simulation
		w.ask(http.MethodPost, "/v1/simulate", fmt.Sprintf(`{"policy":{},"limit":5,"cursor":%q}`, cursor), &got)
		seen, cursor = seen+got.Crossings, got.Next
	}
	if seen != len(w.pages) || pages != (len(w.pages)+4)/5 {
		t.Errorf("%d crossings of %d in %d pages", seen, len(w.pages), pages)
	}
	var problem struct {
		Status int
		Faults []admin.PolicyFault
	}
	if w.ask(http.MethodPost, "/v1/simulate", `{"policy":"mode: strickt"}`, &problem); problem.Status != http.StatusUnprocessableEntity || len(problem.Faults) != 1 || problem.Faults[0].Key != "policy.mode" {
		t.Errorf("a draft that does not load: %+v", problem)
	}
}

// Tunnels are ruled by the operator's lists, and of those that the draft would not
// pass through unread nothing is told.
func TestA12TunnelsAreRuledByTheListsAlone(t *testing.T) {
	w := newSimulateWorld(t, "")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(w.site.URL, "http://"))
	mustDo(t, err)
	const tunnel = "allow_private: [127.0.0.0/8], services: [localhost], tunnels: [localhost]"
	w.policyWorld = newPolicyWorld(t, "connect_ports: ["+port+"]\npolicy: {"+tunnel+"}\n")
	w.pages = []string{"one"}
	w.connect("localhost:" + port)
	for _, c := range []struct {
		draft string
		want  func(admin.Simulation) bool
	}{
		{"{" + tunnel + "}", func(s admin.Simulation) bool { return s.Unchanged == 1 }},
		{"{" + tunnel + ", hosts: {deny: [localhost]}}", func(s admin.Simulation) bool {
			return s.NewlyCarried.Reasons[rulings.HostDenied] == 1 && s.NewlyCarried.Examples[0].URL == "localhost:"+port
		}},
		{"{" + tunnel + ", hosts: {deny: [localhost]}, mode: strict}", func(s admin.Simulation) bool { return s.NewlyRefused.Reasons[rulings.HostDenied] == 1 }},
		{"{services: [localhost], tunnels: [localhost]}", func(s admin.Simulation) bool { return s.NewlyRefused.Reasons[rulings.PrivateAddress] == 1 }},
		{"{allow_private: [127.0.0.0/8]}", func(s admin.Simulation) bool { return s.NotSimulated[causeTunnel] == 1 }},
	} {
		if got := w.simulate(c.draft); got.Crossings != 1 || !c.want(got) {
			t.Errorf("%s: %+v", c.draft, got)
		}
	}
}

// connect passes a request through a tunnel and waits for its end.
func (w *simulateWorld) connect(authority string) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.edge.at.Proxy)
	mustDo(w.t, err)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: Basic czp4\r\n\r\n", authority)
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	mustDo(w.t, err)
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the tunnel was refused: %s", resp.Status)
	}
	fmt.Fprintf(conn, "GET /short HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", authority)
	_, err = io.Copy(io.Discard, br)
	mustDo(w.t, errors.Join(err, conn.Close()))
	for done := false; !done; { // its record comes behind the last octet
		var page struct{ Items []json.RawMessage }
		w.ask(http.MethodGet, "/v1/crossings", "", &page)
		done = len(page.Items) > 0 || w.t.Failed()
	}
}

// Each crossing is ruled by what the draft's overlays make of it for its session.
func TestO6ADraftsOverlaysAreSimulated(t *testing.T) {
	const policy = "allow_private: [127.0.0.0/8], services: [localhost]"
	w := newSimulateWorld(t, "auth: token\npolicy: {"+policy+"}\n")
	var issued struct{ Token string }
	if status := w.ask(http.MethodPost, "/v1/sessions", `{"session":"ci-7"}`, &issued); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	proxy := &url.URL{Scheme: "http", Host: w.edge.at.Proxy, User: url.UserPassword("ci-7", issued.Token)}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	resp, err := client.Get(strings.Replace(w.site.URL, "127.0.0.1", "localhost", 1) + "/short")
	mustDo(t, err)
	resp.Body.Close()
	w.pages = []string{"one"}
	for user, want := range map[string]int{"ci-*": 1, "other": 0} {
		got := w.simulate(`{` + policy + `, sessions: [{user: "` + user + `", mode: strict, hosts: {deny: [localhost]}}]}`)
		if got.NewlyRefused.Count != want || got.Crossings != 1 {
			t.Errorf("overlay of %s: %+v", user, got)
		}
	}
}

func TestA12EveryCauseIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	mustDo(t, err)
	for _, cause := range []string{
		causeTerms, causeReplaced, causePace, causeTunnel, causeAddress, causeHops, causeNames, causeAllowances, causeBodySize, causeContext, causeScreens,
		errRuleset.Cause, errPolicy.Cause, errNotKept.Cause, errNoRequest.Cause, causeOf(os.ErrPermission), "user_agent_cut", "record_unreadable",
	} {
		if !strings.Contains(string(page), "`"+cause+"`") {
			t.Errorf("docs/policy.md does not say what %s is", cause)
		}
	}
}
