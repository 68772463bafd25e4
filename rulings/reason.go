package rulings

import (
	"net/http"
	"time"
)

// A Reason is the stable code of a refusal. A code is never renamed and never
// given another meaning: agents branch on it and docs/refusals has a page for
// each.
type Reason string

// Whose says who set the term behind a refusal.
type Whose string

const (
	WhoseSource   Whose = "source"
	WhoseOperator Whose = "operator"
	WhoseEdge     Whose = "edge"
	WhoseUpstream Whose = "upstream"
)

const (
	// Terms of the source (specs: terms, section 19).
	RobotsDisallow    Reason = "robots_disallow"
	RobotsUnreachable Reason = "robots_unreachable"
	RobotsCutShort    Reason = "robots_cut_short"
	PathReadings      Reason = "path_readings"
	ContentUsage      Reason = "content_usage"
	ContentSignal     Reason = "content_signal"
	AITrainingRule    Reason = "ai_training_rule"
	TDMReserved       Reason = "tdm_reserved"
	NoAI              Reason = "noai"
	LicenceUnread     Reason = "licence_unread"
	LicenceCutShort   Reason = "licence_cut_short"
	LicenceProhibits  Reason = "licence_prohibits"
	LicenceNotListed  Reason = "licence_not_listed"
	LicenceRestricted Reason = "licence_restricted"
	LicencePayment    Reason = "licence_payment"
	LicenceEncrypted  Reason = "licence_encrypted"
	LicenceToken      Reason = "licence_token"
	LicenceReporting  Reason = "licence_reporting"

	// The source's pace (specs: pacing).
	CrawlDelay  Reason = "crawl_delay"
	Backoff     Reason = "backoff"
	PacingStore Reason = "pacing_store"

	// The operator's policy.
	PolicyUnavailable Reason = "policy_unavailable"
	PrivateAddress    Reason = "private_address"
	TunnelNotListed   Reason = "tunnel_not_listed"
	SpendNotAllowed   Reason = "spend_not_allowed"

	// The operator's policy, in a breach that the mode carries or refuses.
	HostDenied             Reason = "host_denied"
	HostNotAllowed         Reason = "host_not_allowed"
	HostRuleRefuses        Reason = "host_rule"
	LicenceRequired        Reason = "licence_required"
	AllowanceExhausted     Reason = "allowance_exhausted"
	AllowanceUnenforceable Reason = "allowance_unenforceable"
	BodyCap                Reason = "body_cap"
	InjectionScreen        Reason = "injection_screen"
	PIIFound               Reason = "pii_found" // never refuses
	Unscreened             Reason = "unscreened"

	// The operator's policy and choice of execution, in every mode.
	ContextBudget Reason = "context_budget"
	NoText        Reason = "no_text"
	Offline       Reason = "offline"
	NotRecorded   Reason = "not_recorded"

	// The edge itself.
	RequestInvalid      Reason = "request_invalid"
	SessionInvalid      Reason = "session_invalid"
	TargetTooLong       Reason = "target_too_long"
	AuthorityMismatch   Reason = "authority_mismatch"
	CredentialsRequired Reason = "credentials_required"
	Loop                Reason = "loop"
	UndecidedReason     Reason = "undecided"

	// The upstream, by the error types of RFC 9209 section 2.3.
	DNSTimeout             Reason = "dns_timeout"
	DNSError               Reason = "dns_error"
	DestinationUnavailable Reason = "destination_unavailable"
	DestinationUnroutable  Reason = "destination_ip_unroutable"
	ConnectionRefused      Reason = "connection_refused"
	ConnectionTerminated   Reason = "connection_terminated"
	ConnectionTimeout      Reason = "connection_timeout"
	ReadTimeout            Reason = "connection_read_timeout"
	WriteTimeout           Reason = "connection_write_timeout"
	TLSProtocolError       Reason = "tls_protocol_error"
	TLSCertificateError    Reason = "tls_certificate_error"
	TLSAlertReceived       Reason = "tls_alert_received"
	ResponseIncomplete     Reason = "http_response_incomplete"
	ResponseHeaderSize     Reason = "http_response_header_section_size"
	ResponseTimeout        Reason = "http_response_timeout"
	UpgradeFailed          Reason = "http_upgrade_failed"
	HTTPProtocolError      Reason = "http_protocol_error"
)

// TurnsAway reports whether r is said of a request that cannot be ruled (E13).
func (r Reason) TurnsAway() bool {
	switch r {
	case RequestInvalid, SessionInvalid, TargetTooLong, AuthorityMismatch, CredentialsRequired, Loop:
		return true
	}
	return false
}

// Paces reports whether r is that of a host's pace, or of the edge's keeping it.
func (r Reason) Paces() bool { return r == CrawlDelay || r == Backoff || r == PacingStore }

// Facts are what is fixed about a reason: who set the term, the status the
// agent gets, the RFC 9209 error type, and the title of the problem.
type Facts struct {
	Whose      Whose
	Status     int
	ProxyError string // RFC 9209 section 2.3
	Title      string

	// RetryAfter is when to ask again where the ruling names no instant; 0 says
	// that waiting does not help.
	RetryAfter time.Duration
}

var facts = map[Reason]Facts{
	RobotsDisallow:    {WhoseSource, http.StatusForbidden, "http_request_denied", "The site's robots.txt does not allow this path", 0},
	RobotsUnreachable: {WhoseSource, http.StatusServiceUnavailable, "http_request_denied", "The site's robots.txt could not be reached", 0},
	RobotsCutShort:    {WhoseEdge, http.StatusServiceUnavailable, "proxy_internal_error", "The edge could not ask for the site's robots.txt", time.Second},
	PathReadings:      {WhoseEdge, http.StatusForbidden, "http_request_denied", "The path can be read in too many ways", 0},
	ContentUsage:      forbidden("The site's Content-Usage does not allow this purpose"),
	ContentSignal:     forbidden("The site's Content-Signal does not allow this purpose"),
	AITrainingRule:    forbidden("The site does not allow AI training on this page"),
	TDMReserved:       forbidden("The site reserves text and data mining of this page"),
	NoAI:              forbidden("The site does not allow AI to use this page"),
	LicenceUnread:     forbidden("A licence of this page could not be read"),
	LicenceCutShort:   {WhoseEdge, http.StatusServiceUnavailable, "proxy_internal_error", "The edge could not ask for a licence of this page", time.Second},
	LicenceProhibits:  forbidden("A licence of this page prohibits this purpose"),
	LicenceNotListed:  forbidden("A licence of this page does not list this purpose"),
	LicenceRestricted: forbidden("A licence of this page is for others"),
	LicencePayment:    priced("A licence of this page has to be paid for"),
	LicenceEncrypted:  priced("A licence of this page covers encrypted content"),
	LicenceToken:      priced("A licence of this page has to be obtained from its server"),
	LicenceReporting:  forbidden("A licence of this page demands reports"),

	CrawlDelay:  {WhoseSource, http.StatusTooManyRequests, "http_request_denied", "The site's Crawl-delay leaves no room for this request now", 0},
	Backoff:     {WhoseSource, http.StatusTooManyRequests, "http_request_denied", "The site has asked for a pause or is failing", 0},
	PacingStore: {WhoseEdge, http.StatusServiceUnavailable, "proxy_internal_error", "The pace of the site could not be kept", 30 * time.Second},

	PolicyUnavailable: {WhoseOperator, http.StatusServiceUnavailable, "http_request_denied", "The operator's policy does not load", 30 * time.Second},
	PrivateAddress:    {WhoseOperator, http.StatusForbidden, "destination_ip_prohibited", "The address is not public", 0},
	TunnelNotListed:   {WhoseOperator, http.StatusForbidden, "http_request_denied", "The operator does not allow this tunnel", 0},
	SpendNotAllowed:   {WhoseOperator, http.StatusForbidden, "http_request_denied", "The operator does not allow spending here", 0},

	HostDenied:             operators("The operator denies this host"),
	HostNotAllowed:         operators("The operator does not allow this host"),
	HostRuleRefuses:        operators("A rule of the operator refuses this host"),
	LicenceRequired:        operators("The operator requires a licence that this page is not known to have"),
	AllowanceExhausted:     operators("The operator's allowance does not cover this request"),
	AllowanceUnenforceable: operators("The operator's allowance cannot be enforced"),
	BodyCap:                operators("The answer is larger than the operator allows"),
	InjectionScreen:        operators("The answer has text that addresses language models"),
	PIIFound:               operators("The answer has personal data in it"),
	Unscreened:             operators("The answer could not be screened"),
	ContextBudget:          operators("The answer does not fit what is left of the session's context"),
	NoText:                 {WhoseEdge, http.StatusForbidden, "http_request_denied", "The answer has no text", 0},
	Offline:                operators("The edge is offline"),
	NotRecorded:            operators("The recording has no answer to this request"),

	RequestInvalid:      {WhoseEdge, http.StatusBadRequest, "http_request_error", "The request cannot be understood", 0},
	SessionInvalid:      {WhoseEdge, http.StatusBadRequest, "http_request_error", "The session id is not valid", 0},
	TargetTooLong:       {WhoseEdge, http.StatusRequestURITooLong, "http_request_error", "The request target is too long", 0},
	AuthorityMismatch:   {WhoseEdge, http.StatusMisdirectedRequest, "http_request_error", "The request names another host than its tunnel", 0},
	CredentialsRequired: {WhoseEdge, http.StatusProxyAuthRequired, "http_request_denied", "The proxy needs credentials", 0},
	Loop:                {WhoseEdge, http.StatusLoopDetected, "proxy_loop_detected", "The request leads back to the proxy", 0},
	UndecidedReason:     {WhoseEdge, http.StatusServiceUnavailable, "proxy_internal_error", "The edge could not decide", time.Second},

	DNSTimeout:             upstream(http.StatusGatewayTimeout, DNSTimeout, "The site's name was not resolved in time"),
	DNSError:               upstream(http.StatusBadGateway, DNSError, "The site's name could not be resolved"),
	DestinationUnavailable: upstream(http.StatusBadGateway, DestinationUnavailable, "The site is not available"),
	DestinationUnroutable:  upstream(http.StatusBadGateway, DestinationUnroutable, "No route leads to the site"),
	ConnectionRefused:      upstream(http.StatusBadGateway, ConnectionRefused, "The site refused the connection"),
	ConnectionTerminated:   upstream(http.StatusBadGateway, ConnectionTerminated, "The site closed the connection without an answer"),
	ConnectionTimeout:      upstream(http.StatusGatewayTimeout, ConnectionTimeout, "The site did not accept the connection in time"),
	ReadTimeout:            upstream(http.StatusGatewayTimeout, ReadTimeout, "The site stopped sending"),
	WriteTimeout:           upstream(http.StatusGatewayTimeout, WriteTimeout, "The site stopped reading"),
	TLSProtocolError:       upstream(http.StatusBadGateway, TLSProtocolError, "The TLS handshake with the site did not succeed"),
	TLSCertificateError:    upstream(http.StatusBadGateway, TLSCertificateError, "The site's certificate is not valid"),
	TLSAlertReceived:       upstream(http.StatusBadGateway, TLSAlertReceived, "The site ended the TLS handshake"),
	ResponseIncomplete:     upstream(http.StatusBadGateway, ResponseIncomplete, "The site's answer broke off"),
	ResponseHeaderSize:     upstream(http.StatusBadGateway, ResponseHeaderSize, "The site's answer has too large a head"),
	ResponseTimeout:        upstream(http.StatusGatewayTimeout, ResponseTimeout, "The site did not answer in time"),
	UpgradeFailed:          upstream(http.StatusBadGateway, UpgradeFailed, "The site switched to a protocol that was not asked for"),
	HTTPProtocolError:      upstream(http.StatusBadGateway, HTTPProtocolError, "The site's answer is not valid HTTP"),
}

// upstream gives the facts of a reason that is itself an RFC 9209 error type.
func upstream(status int, r Reason, title string) Facts {
	return Facts{Whose: WhoseUpstream, Status: status, ProxyError: string(r), Title: title}
}

// operators gives the facts of a rule of the operator's policy (O12).
func operators(title string) Facts {
	return Facts{Whose: WhoseOperator, Status: http.StatusForbidden, ProxyError: "http_request_denied", Title: title}
}

// forbidden gives the facts of a source's term that forbids what is declared.
func forbidden(title string) Facts {
	return Facts{Whose: WhoseSource, Status: http.StatusUnavailableForLegalReasons, ProxyError: "http_request_denied", Title: title}
}

// priced gives the facts of a source's term that wants what the edge has not: a
// payment or a licence token.
func priced(title string) Facts {
	return Facts{Whose: WhoseSource, Status: http.StatusPaymentRequired, ProxyError: "http_request_denied", Title: title}
}

// Facts returns what is fixed about r. A code nobody defined has the facts of
// an undecided request, so that a slip refuses and says whose it is.
func (r Reason) Facts() Facts {
	if f, ok := facts[r]; ok {
		return f
	}
	return facts[UndecidedReason]
}

// Reasons returns every reason code, in no order; the docs tests compare it
// with the pages of docs/refusals.
func Reasons() []Reason {
	all := make([]Reason, 0, len(facts))
	for r := range facts {
		all = append(all, r)
	}
	return all
}
