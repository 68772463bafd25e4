package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/rulings"
)

func TestA11BreachesAndTheModeAreTold(t *testing.T) {
	w := newPolicyWorld(t, openPolicy)
	var got admin.Explanation
	ask := func(session string) {
		t.Helper()
		got = admin.Explanation{}
		if status := w.ask(http.MethodPost, "/v1/explain", `{"url":"`+w.site.URL+`/a","fetch":true,"session":"`+session+`"}`, &got); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	ask("s")
	want := []admin.Breach{{Reason: rulings.HostDenied, Detail: "hosts.deny 1 (127.0.0.1) matches 127.0.0.1"}}
	if diff := cmp.Diff(want, got.Breaches); diff != "" || got.Outcome != "proceed" || got.Mode != "observe" {
		t.Errorf("outcome %s in mode %s (-want +got):\n%s", got.Outcome, got.Mode, diff)
	}
	for _, line := range []string{"proceed, in breach of policy", "breaks policy, which mode observe carries: host_denied: hosts.deny 1 (127.0.0.1) matches 127.0.0.1"} {
		if text := inWords(got); !strings.Contains(text, line+"\n") {
			t.Errorf("the words lack %q:\n%s", line, text)
		}
	}
	w.write(closedPolicy)
	w.reload()
	ask("s")
	if got.Outcome != "refuse" || got.Reason != "host_denied" || got.Mode != "strict" || len(got.Breaches) > 0 || !strings.Contains(got.Change, "policy.hosts.deny") {
		t.Errorf("in strict: %+v", got)
	}
}

func TestO6AQuestionIsRuledByTheSessionsOverlay(t *testing.T) {
	w := newPolicyWorld(t, "auth: token\npolicy: {allow_private: [127.0.0.0/8], sessions: [{user: ci, mode: strict, hosts: {deny: [127.0.0.1]}}]}\n")
	for session, outcome := range map[string]string{"ci": "refuse", "other": "proceed", "": "proceed"} {
		var got admin.Explanation
		w.ask(http.MethodPost, "/v1/explain", `{"url":"`+w.site.URL+`/a","fetch":true,"session":"`+session+`"}`, &got)
		if got.Outcome != outcome {
			t.Errorf("session %q: %+v", session, got)
		}
	}
}

// Whatever the operator's policy refuses for, an operator is told what would lift it.
func TestA11EveryReasonOfPolicyHasWords(t *testing.T) {
	seen := 0
	for _, r := range rulings.Reasons() {
		if r.Facts().Whose != rulings.WhoseOperator && r != rulings.NoText {
			continue
		}
		seen++
		if words := wouldChange(rulings.Ruling{Reason: r}); !strings.HasSuffix(words, ".") {
			t.Errorf("%s has the words %q", r, words)
		}
	}
	if seen < 10 {
		t.Errorf("only %d reasons are the operator's", seen)
	}
}
