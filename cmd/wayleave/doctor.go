package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// A verdict is what one check found.
type verdict string

const (
	fine verdict = "ok"
	note verdict = "note" // works, but somebody may want to know
	bad  verdict = "fail"
)

// A finding is one line of what doctor says.
type finding struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	Detail  string  `json:"detail"`
}

func (c *cli) doctorCommand() *cobra.Command {
	var flags configFlags
	var health, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that an edge can run here and that agents would go through it",
		Long: `Checks the configuration, the data directory, the CA, the logs, the listeners,
the clock and the limits of this machine, and says for the environment it is
called in which clients would go round the edge or not trust it. Writes one
small file into the data directory and removes it. Exits 1 when something is
wrong.

With --health it only asks the running edge whether it is ready.`,
		Args: noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			if health {
				return c.health(cmd, flags)
			}
			return c.doctor(cmd, flags, asJSON)
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&health, "health", false, "only ask the running edge whether it is ready")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// health is the health check of an image: one question to the running edge.
func (c *cli) health(cmd *cobra.Command, flags configFlags) error {
	cfg, err := c.config(cmd, flags)
	if err != nil {
		return err
	}
	found, running, err := runningEdge(cfg.data)
	if err != nil {
		return err
	}
	if !running {
		return notSo(fmt.Errorf("no edge is running on %s", cfg.data))
	}
	if f := askReady(cmd.Context(), found); f.Verdict != fine {
		return notSo(fmt.Errorf("the edge is not ready: %s", f.Detail))
	}
	_, err = fmt.Fprintln(c.stdout, "ready")
	return err
}

// doctor runs every check and prints what each found.
func (c *cli) doctor(cmd *cobra.Command, flags configFlags, asJSON bool) error {
	findings := c.examine(cmd, flags)
	failed := 0
	for _, f := range findings {
		if f.Verdict == bad {
			failed++
		}
	}
	if err := c.printFindings(findings, failed == 0, asJSON); err != nil {
		return err
	}
	if failed > 0 {
		return notSo(fmt.Errorf("%d of %d checks found something wrong", failed, len(findings)))
	}
	return nil
}

func (c *cli) printFindings(findings []finding, ok, asJSON bool) error {
	if asJSON {
		return c.printJSON(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{ok, findings})
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Verdict, f.Name, f.Detail)
	}
	return w.Flush()
}

// examine makes every check, in the order of what stands on what.
func (c *cli) examine(cmd *cobra.Command, flags configFlags) []finding {
	cfg, err := c.source(cmd, flags, nil).load()
	if err != nil {
		return []finding{{"configuration", bad, err.Error()}}
	}
	sessions, logs := checkLogs(cfg.data)
	ca, found := c.checkCA(cfg)
	out := []finding{
		checkConfig(cfg), checkData(cfg.data), checkDisk(cfg.data), logs, found, checkClock(sessions, ca, time.Now()), checkFiles(),
	}
	edge, running, err := runningEdge(cfg.data)
	if err != nil {
		return append(out, finding{"edge", bad, err.Error()})
	}
	if !running {
		edge = ready{Proxy: cfg.listen, Admin: cfg.adminListen}
		out = append(out, finding{"edge", note, "none is running on " + cfg.data}, checkFree("listen", cfg.listen), checkFree("admin.listen", cfg.adminListen))
	} else {
		out = append(out, checkReachable(edge), askReady(cmd.Context(), edge))
	}
	return append(out, c.checkClients(reachable(edge.Proxy), ca)...)
}

func checkConfig(cfg *config) finding {
	if cfg.policy == nil {
		return finding{"configuration", bad, "the policy does not load, so everything is refused: " + cfg.policyFaults.Error()}
	}
	from := "defaults and environment"
	if cfg.file != "" {
		from = cfg.file
	}
	return finding{"configuration", fine, fmt.Sprintf("%s, policy %s", from, cfg.policy.Digest())}
}

// checkFree says whether an edge could listen on address.
func checkFree(key, address string) finding {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return finding{key, bad, err.Error()}
	}
	l.Close()
	return finding{key, fine, address + " is free"}
}

// checkReachable connects to the proxy of a running edge.
func checkReachable(edge ready) finding {
	address := reachable(edge.Proxy)
	conn, err := net.DialTimeout("tcp", address, healthPatience)
	if err != nil {
		return finding{"proxy", bad, err.Error()}
	}
	conn.Close()
	return finding{"proxy", fine, address + " takes connections"}
}

// healthPatience bounds a question to a running edge.
const healthPatience = 5 * time.Second

// askReady asks a running edge's /readyz.
func askReady(ctx context.Context, edge ready) finding {
	address := reachable(edge.Admin)
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return finding{"readyz", bad, err.Error()}
	}
	resp, err := direct.Do(req)
	if err != nil {
		return finding{"readyz", bad, err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return finding{"readyz", fine, "the edge on " + address + " is ready"}
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // what came is enough to tell
	return finding{"readyz", bad, fmt.Sprintf("%s: %s", resp.Status, body)}
}

// direct asks the edge's own admin listener. It uses no proxy, whatever the
// environment says: the edge refuses requests for itself.
var direct = &http.Client{Transport: &http.Transport{Proxy: nil}}
