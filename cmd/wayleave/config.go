package main

import (
	"slices"
	"strings"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
)

// An authMode is who may use the proxy (N20).
type authMode string

const (
	authOpen  authMode = "open"  // anybody who reaches the listener; the user name is a session id
	authToken authMode = "token" // only with credentials that were issued
)

// A config is what holds after defaults, file, environment and flags. It never
// changes after load; a reload makes a new one.
type config struct {
	file      string              // the file it was read from; empty for none
	blank     bool                // nothing stands in the file
	written   map[string][]string // what was written for each key, for telling what a reload would change
	writtenAt map[string]position // where that was

	listen       string // host:port
	adminListen  string // host:port
	openMetrics  bool
	data         string // absolute
	auth         authMode
	connectPorts *proxy.PortSet

	caFile        string // absolute; empty for none
	upstreamProxy secretURL
	headTimeout   time.Duration
	shutdownGrace time.Duration

	shared    bool // tenancy: shared
	pacing    backoff.Config
	paceStore secretURL // none: files

	segmentBytes int64
	sessionIdle  time.Duration
	appendWait   time.Duration
	secretNames  []string
	secretPaths  []string

	replayRequires []string // hosts

	policyFile rulings.PolicyFile
	policyAt   map[string]position // where each key of the policy was written, each item and each member of one

	// policy is the effective policy. It is nil when the section policy does not
	// load; then policyFaults says why, and the edge refuses everything (O3).
	policy       *rulings.Policy
	policyFaults faults
}

// A configKey is one key of the configuration. The two tables are the only list
// of them: they drive the file's reader, the environment, the defaults, the help
// text and the schema, and the documentation is tested against them.
type configKey struct {
	name string
	shape
	def string // as it would be written in the environment; empty for none
	doc string
	set func(c *config, values []string) error // values are whole lists; one value for a scalar
}

// configKeys are all keys, in the order of the documentation (A20).
var configKeys = slices.Concat(edgeKeys, policyKeys)

// edgeKeys are the keys outside the section policy.
var edgeKeys = []configKey{
	{"listen", aText, "127.0.0.1:3128", "where agents connect, host:port; port 0 takes a free one",
		func(c *config, v []string) error { return setAddress(&c.listen, v[0]) }},
	{"admin.listen", aText, "127.0.0.1:3129", "where the admin API listens, host:port; port 0 takes a free one",
		func(c *config, v []string) error { return setAddress(&c.adminListen, v[0]) }},
	{"admin.open_metrics", aBool, "false", "serve /metrics without the admin token",
		func(c *config, v []string) error { return setBool(&c.openMetrics, v[0]) }},
	{"data", aPath, "", "the data directory; by default $XDG_STATE_HOME/wayleave",
		func(c *config, v []string) error { return setPath(&c.data, v[0]) }},
	{"auth", oneWord("open", "token"), "open", "open: any session name is taken (loopback listeners only); token: issued credentials are needed",
		func(c *config, v []string) error { return setAuth(&c.auth, v[0]) }},
	{"tenancy", oneWord("single", "shared"), "single", "single: refusals tell all that is known of a host's pace; shared: sessions belong to different parties and learn nothing of each other (needs auth: token)",
		func(c *config, v []string) error { return setTenancy(&c.shared, v[0]) }},
	{"connect_ports", somePorts, "443,80,8443,8080", `ports that CONNECT may ask for; ports and ranges such as "9000-9999"`,
		func(c *config, v []string) error { return setPorts(&c.connectPorts, v) }},
	{"upstream.ca_file", aPath, "", "a PEM file of roots trusted beside the system's",
		func(c *config, v []string) error { return setCAFile(&c.caFile, v[0]) }},
	{"upstream.proxy", aText, "", "the URL of a proxy that all requests go through",
		func(c *config, v []string) error { return setProxyURL(&c.upstreamProxy, v[0]) }},
	{"upstream.head_timeout", aDuration, "30s", "how long a source may take to begin its answer",
		func(c *config, v []string) error { return setDuration(&c.headTimeout, v[0], time.Millisecond) }},
	{"shutdown_grace", aDuration, "30s", "how long exchanges may go on after SIGTERM",
		func(c *config, v []string) error { return setDuration(&c.shutdownGrace, v[0], 0) }},
	{"pacing.max_wait", aDuration, "20s", "how long a crossing may wait in all for its hosts' pace",
		func(c *config, v []string) error { return setDuration(&c.pacing.MaxWait, v[0], time.Millisecond) }},
	{"pacing.max_delay", aDuration, "60s", "the longest Crawl-delay that is kept as written",
		func(c *config, v []string) error { return setDuration(&c.pacing.MaxDelay, v[0], time.Millisecond) }},
	{"pacing.max_waiters", aCount, "1000", "how many requests may wait for one host",
		func(c *config, v []string) error { return setCount(&c.pacing.MaxWaiters, v[0]) }},
	{"pacing.lock_wait", aDuration, "2s", "how long the lock of a host's state may be waited for",
		func(c *config, v []string) error { return setDuration(&c.pacing.LockWait, v[0], time.Millisecond) }},
	{"pacing.store", aText, "file", "where hosts' pace is kept: file, in the data directory, or the redis:// URL of a server that several edges share",
		func(c *config, v []string) error { return setStore(&c.paceStore, v[0]) }},
	{"evidence.segment_bytes", aSize, "64MiB", "a log goes on in a new segment when the one in use has this size",
		func(c *config, v []string) error { return setSize(&c.segmentBytes, v[0], 1<<10) }},
	{"evidence.session_idle", aDuration, "30m", "a session's log is closed after so long without a crossing",
		func(c *config, v []string) error { return setDuration(&c.sessionIdle, v[0], time.Millisecond) }},
	{"evidence.append_wait", aDuration, "10s", "how long an answer waits for its record to be on disk",
		func(c *config, v []string) error { return setDuration(&c.appendWait, v[0], time.Millisecond) }},
	{"evidence.secret_names", aList, "", "further names whose values are replaced in recorded URLs",
		func(c *config, v []string) error { return setSecretNames(&c.secretNames, v) }},
	{"evidence.secret_paths", aList, "", "host/path patterns whose segments marked * are replaced in recorded URLs",
		func(c *config, v []string) error { return setSecretPaths(&c.secretPaths, v) }},
	{"replay.requires", aList, "", "hosts without whose recording no replay starts",
		func(c *config, v []string) error { return setHosts(&c.replayRequires, v) }},
}

// findKey returns the key with the given name, nil when there is none.
func findKey(name string) *configKey {
	for i := range configKeys {
		if configKeys[i].name == name {
			return &configKeys[i]
		}
	}
	return nil
}

// isSection reports whether name is a mapping that holds keys, such as "policy".
func isSection(name string) bool {
	for _, k := range configKeys {
		if strings.HasPrefix(k.name, name+".") {
			return true
		}
	}
	return false
}

// inPolicy reports whether a fault under key leaves the edge without a policy
// (O3) and not without a configuration.
func inPolicy(key string) bool { return key == "policy" || strings.HasPrefix(key, "policy.") }

// variable returns the name of the environment variable of k (A20).
func (k *configKey) variable() string {
	return "WAYLEAVE_" + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}
