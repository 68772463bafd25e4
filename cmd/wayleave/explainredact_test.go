package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The URL of a licence may hold a token, wherever a source wrote it.
func TestE23TheDeskTellsNoSecretOfATermsURL(t *testing.T) {
	const robots = "User-agent: *\nAllow: /\nLicense: /licence.xml?access_token=hunter2 # see //me:hunter2@site.test/\nContent-Signal: ai-input=yes\n"
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": robots, "/licence.xml": openLicence})
	explain := `{"url":"` + w.site.URL + `/page","fetch":true}`
	for _, q := range []struct {
		method, path, body string
		want               []string
	}{
		{http.MethodPost, "/v1/explain", explain, []string{`"outcome":"proceed"`, `"url":"` + w.site.URL + `/licence.xml?access_token=~`}},
		{http.MethodGet, "/v1/hosts/" + w.host, "", []string{"License: /licence.xml?access_token=~", `"Content-Signal: ai-input=yes"`, `"url":"` + w.site.URL + `/licence.xml?access_token=~`}},
		{http.MethodPost, "/v1/hosts/" + w.host + "/refresh", "", []string{"License: /licence.xml?access_token=~"}},
	} {
		var raw json.RawMessage
		status := w.ask(q.method, q.path, q.body, &raw)
		if status != http.StatusOK || strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s: status %d, %s", q.path, status, raw)
		}
		for _, want := range q.want {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s: %s is not in %s", q.path, want, raw)
			}
		}
		w.bookHas(w.host)
	}
}

// A line is cut behind what is redacted: half a secret is one.
func TestE23ALongLineIsRedactedBeforeItIsCut(t *testing.T) {
	robots := "User-agent: *\nAllow: /\nLicense: http://hunter2" + strings.Repeat("x", maxRobotsOctets) + ":x@site.test/l.xml\n"
	w := newDeskWorld(t, "", map[string]string{"/robots.txt": robots})
	var raw json.RawMessage
	w.ask(http.MethodPost, "/v1/explain", `{"url":"`+w.site.URL+`/page","fetch":true}`, &raw)
	w.bookHas(w.host)
	if status := w.ask(http.MethodGet, "/v1/hosts/"+w.host, "", &raw); status != http.StatusOK || strings.Contains(string(raw), "hunter2") || !strings.Contains(string(raw), "License: http://site.test/l.xml") {
		t.Errorf("status %d, %s", status, raw)
	}
}
