package rulings_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// The tables of the terms page (section 19), the protocol page (behind N19) and
// the policy page (O3, O11, O12), as far as codes exist.
var facts = []struct {
	reason     string
	whose      rulings.Whose
	status     int
	proxyError string
	retryAfter time.Duration // where the ruling itself names no instant
}{
	{"robots_disallow", "source", 403, "http_request_denied", 0},
	{"robots_unreachable", "source", 503, "http_request_denied", 0},
	{"robots_cut_short", "edge", 503, "proxy_internal_error", time.Second},
	{"path_readings", "edge", 403, "http_request_denied", 0},
	{"content_usage", "source", 451, "http_request_denied", 0},
	{"content_signal", "source", 451, "http_request_denied", 0},
	{"ai_training_rule", "source", 451, "http_request_denied", 0},
	{"licence_unread", "source", 451, "http_request_denied", 0},
	{"licence_cut_short", "edge", 503, "proxy_internal_error", time.Second},
	{"licence_prohibits", "source", 451, "http_request_denied", 0},
	{"licence_not_listed", "source", 451, "http_request_denied", 0},
	{"licence_restricted", "source", 451, "http_request_denied", 0},
	{"licence_payment", "source", 402, "http_request_denied", 0},
	{"licence_encrypted", "source", 402, "http_request_denied", 0},
	{"licence_token", "source", 402, "http_request_denied", 0},
	{"licence_reporting", "source", 451, "http_request_denied", 0},
	{"tdm_reserved", "source", 451, "http_request_denied", 0},
	{"noai", "source", 451, "http_request_denied", 0},
	{"spend_not_allowed", "operator", 403, "http_request_denied", 0},
	{"host_denied", "operator", 403, "http_request_denied", 0},
	{"host_not_allowed", "operator", 403, "http_request_denied", 0},
	{"host_rule", "operator", 403, "http_request_denied", 0},
	{"licence_required", "operator", 403, "http_request_denied", 0},
	{"allowance_exhausted", "operator", 403, "http_request_denied", 0},
	{"allowance_unenforceable", "operator", 403, "http_request_denied", 0},
	{"body_cap", "operator", 403, "http_request_denied", 0},
	{"injection_screen", "operator", 403, "http_request_denied", 0},
	{"pii_found", "operator", 403, "http_request_denied", 0},
	{"unscreened", "operator", 403, "http_request_denied", 0},
	{"context_budget", "operator", 403, "http_request_denied", 0},
	{"no_text", "edge", 403, "http_request_denied", 0},
	{"offline", "operator", 403, "http_request_denied", 0},
	{"not_recorded", "operator", 403, "http_request_denied", 0},
	{"crawl_delay", "source", 429, "http_request_denied", 0},
	{"backoff", "source", 429, "http_request_denied", 0},
	{"pacing_store", "edge", 503, "proxy_internal_error", 30 * time.Second},
	{"policy_unavailable", "operator", 503, "http_request_denied", 30 * time.Second},
	{"private_address", "operator", 403, "destination_ip_prohibited", 0},
	{"tunnel_not_listed", "operator", 403, "http_request_denied", 0},
	{"request_invalid", "edge", 400, "http_request_error", 0},
	{"session_invalid", "edge", 400, "http_request_error", 0},
	{"target_too_long", "edge", 414, "http_request_error", 0},
	{"authority_mismatch", "edge", 421, "http_request_error", 0},
	{"credentials_required", "edge", 407, "http_request_denied", 0},
	{"loop", "edge", 508, "proxy_loop_detected", 0},
	{"undecided", "edge", 503, "proxy_internal_error", time.Second},
	{"dns_timeout", "upstream", 504, "dns_timeout", 0},
	{"dns_error", "upstream", 502, "dns_error", 0},
	{"destination_unavailable", "upstream", 502, "destination_unavailable", 0},
	{"destination_ip_unroutable", "upstream", 502, "destination_ip_unroutable", 0},
	{"connection_refused", "upstream", 502, "connection_refused", 0},
	{"connection_terminated", "upstream", 502, "connection_terminated", 0},
	{"connection_timeout", "upstream", 504, "connection_timeout", 0},
	{"connection_read_timeout", "upstream", 504, "connection_read_timeout", 0},
	{"connection_write_timeout", "upstream", 504, "connection_write_timeout", 0},
	{"tls_protocol_error", "upstream", 502, "tls_protocol_error", 0},
	{"tls_certificate_error", "upstream", 502, "tls_certificate_error", 0},
	{"tls_alert_received", "upstream", 502, "tls_alert_received", 0},
	{"http_response_incomplete", "upstream", 502, "http_response_incomplete", 0},
	{"http_response_header_section_size", "upstream", 502, "http_response_header_section_size", 0},
	{"http_response_timeout", "upstream", 504, "http_response_timeout", 0},
	{"http_upgrade_failed", "upstream", 502, "http_upgrade_failed", 0},
	{"http_protocol_error", "upstream", 502, "http_protocol_error", 0},
}

func TestT115N19EveryReasonHasTheFactsOfThePages(t *testing.T) {
	var listed []rulings.Reason
	for _, tt := range facts {
		listed = append(listed, rulings.Reason(tt.reason))
		got := rulings.Reason(tt.reason).Facts()
		if got.Title == "" || strings.HasSuffix(got.Title, ".") {
			t.Errorf("%s: title %q", tt.reason, got.Title)
		}
		got.Title = ""
		if diff := cmp.Diff(rulings.Facts{Whose: tt.whose, Status: tt.status, ProxyError: tt.proxyError, RetryAfter: tt.retryAfter}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	all := rulings.Reasons()
	slices.Sort(all)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, all); diff != "" {
		t.Errorf("codes (-in this test +in the code):\n%s", diff)
	}
}

// A code goes into URLs, header fields and file names.
func TestReasonCodesArePlain(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, r := range rulings.Reasons() {
		if !plain.MatchString(string(r)) {
			t.Errorf("%q", r)
		}
	}
}

func TestACodeNobodyDefinedRefusesAsUndecided(t *testing.T) {
	if got := rulings.Reason("no_such_code").Facts(); got != rulings.UndecidedReason.Facts() || got.Status < 400 {
		t.Errorf("%+v", got)
	}
}

func TestT116SayFillsInNumbersAndTimesOnly(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		got  rulings.Words
		want string
	}{
		{rulings.Say("plain"), "plain"},
		{rulings.Say("line % of %", rulings.Number(3), rulings.Number(-1)), "line 3 of -1"},
		{rulings.Say("after %", rulings.Instant(at)), "after 2030-01-02T02:04:06Z"},
		{rulings.Say("after %", rulings.Instant(at.Truncate(time.Second))), "after 2030-01-02T02:04:05Z"},
		{rulings.Say("% %", rulings.Number(1)), "1 %"},
		{rulings.Say("none", rulings.Number(1)), "none"},
		{rulings.Words{}, ""},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestDigestsAreToldAsRecordsHaveThem(t *testing.T) {
	if s := (rulings.Digest{}).String(); s != "" {
		t.Errorf("no digest is told as %q", s)
	}
	if s, want := (rulings.Digest{0xAB, 31: 1}).String(), "sha256:ab"+strings.Repeat("00", 30)+"01"; s != want {
		t.Errorf("%s, want %s", s, want)
	}
}
