package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/certs"
)

// runOptions are the flags of run.
type runOptions struct {
	configFlags
	session     string
	batch       string
	offline     bool
	record      string // directory of the recording that is made; empty: none
	replay      string // directory of the recording that is replayed; empty: none
	asJSON      bool
	summaryFile string
}

func (c *cli) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command whose requests go through an edge",
		Long: `Runs COMMAND with the environment of 'wayleave env' and exits as it did (128+n
when signal n ended it). It uses the edge that is running on the data directory,
with that edge's own configuration, or starts one of its own on free ports for as
long as COMMAND runs. On a terminal a line on stderr says which hosts requests
wait for, and until when. At the end one line there sums up what happened.

With --batch NAME the edge is always the run's own. It writes one log, which is
closed, read back and summed up when COMMAND has ended, and then published as
runs/NAME in one step. A run that is interrupted leaves the older run of that
name as it was.

With --record DIR what the run exchanges with sites and services is kept there.
With --replay DIR answers come from such a recording in place of the network, under
the same rulings. A replay that meets a request which was not recorded refuses it,
is not published, and exits 1.

With --offline only hosts that policy.allow_private names are asked, by an edge of
the command's own.

When COMMAND exited 0 but an edge of its own still owes evidence, the exit code
is 3.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("run wants a command, such as: wayleave run -- curl https://example.com/"))
			}
			return nil
		},
		RunE: action(func(cmd *cobra.Command, args []string) error { return c.runAgent(cmd, o, args) }),
	}
	cmd.Flags().SetInterspersed(false) // what follows the command's name is the command's own
	o.add(cmd)
	cmd.Flags().StringVar(&o.session, "session", "", "the session's id; made up when left out")
	cmd.Flags().StringVar(&o.batch, "batch", "", "make one bounded run of this name, with one log of its own, and publish it in runs/NAME")
	cmd.Flags().StringVar(&o.record, "record", "", "with --batch: keep what is exchanged in this directory, which must be empty")
	cmd.Flags().StringVar(&o.replay, "replay", "", "with --batch: answer from the recording in this directory; nothing is sent")
	cmd.Flags().BoolVar(&o.offline, "offline", false, "ask only hosts that policy.allow_private names")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "sum up as JSON")
	cmd.Flags().StringVar(&o.summaryFile, "summary-file", "", "also write the summary there, as JSON")
	return cmd
}

// runSignals are passed on to the command that runs.
var runSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// runAgent is the whole of a run: an edge, a child, a summary, an exit code.
func (c *cli) runAgent(cmd *cobra.Command, o runOptions, args []string) error {
	session, err := sessionID(o.session, "run")
	if err != nil {
		return err
	}
	if err := o.check(cmd.Flags().Changed); err != nil {
		return usage(err)
	}
	cfg, err := c.config(cmd, o.configFlags)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("batch") {
		return c.runBatch(cmd.Context(), cfg, o, args)
	}
	access, err := c.reachEdge(cmd.Context(), cfg, session, o.offline)
	if err != nil {
		return err
	}
	signals := relaySignals(runSignals...)
	defer signals.stop()
	end := c.showWaits(access.waits)
	code, err := c.runChild(args, access.env, signals)
	end()
	owed := access.close(signals)
	if err != nil {
		return err
	}
	if err := c.sumUp(cfg, session, access.execution, o); err != nil {
		fmt.Fprintf(c.stderr, "wayleave: the summary could not be made: %v\n", err)
		owed = errors.Join(owed, err)
	}
	if code == 0 && owed != nil {
		return &exitError{exitUnknown, owed}
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// An edgeAccess is an edge that a run goes through.
type edgeAccess struct {
	execution string // that edge's mode (O60)

	env   clientEnv
	waits waitsFunc
	close func(relay) error // ends the edge when it is the run's own; what it still owes is the error
}

// reachEdge finds the running edge of the data directory or starts one, as it does
// for what is to be offline: another edge is in a mode of its own.
func (c *cli) reachEdge(ctx context.Context, cfg *config, session string, offline bool) (edgeAccess, error) {
	found, running, err := runningEdge(cfg.data)
	if err != nil {
		return edgeAccess{}, err
	}
	if running && !offline {
		return c.useEdge(ctx, cfg, found, session)
	}
	own := *cfg
	own.listen, own.adminListen = "127.0.0.1:0", "127.0.0.1:0"
	e, err := startEdge(ctx, &own, edgeOptions{log: c.quietLogger(), systemRoots: c.getenv("SSL_CERT_FILE"), unlisted: true, mode: executionMode{offline: offline}})
	if err != nil {
		return edgeAccess{}, fmt.Errorf("the edge does not start: %w", err)
	}
	return c.ownEdge(ctx, cfg, e, session)
}

// ownEdge goes through e, which is the command's own. After an error e is closed.
func (c *cli) ownEdge(ctx context.Context, cfg *config, e *edge, session string) (edgeAccess, error) {
	token, err := credential(cfg, session)
	if err != nil {
		return edgeAccess{}, errors.Join(err, e.close(ctx))
	}
	kind := "session"
	if e.run != nil {
		kind = "run"
	}
	fmt.Fprintf(c.stderr, "wayleave: edge on %s, execution %s, %s %s\n", e.at.Proxy, e.execution(), kind, session)
	return edgeAccess{e.execution(), clientEnv{proxyURL(e.at.Proxy, session, token), e.authority.BundleFile(), e.authority.P12File()}, e.waitingHosts,
		func(signals relay) error { return e.stop(ctx, signals) }}, nil
}

// useEdge goes through an edge that somebody else runs.
func (c *cli) useEdge(ctx context.Context, cfg *config, found ready, session string) (edgeAccess, error) {
	status, err := statusAt(ctx, found)
	if err != nil {
		return edgeAccess{}, fmt.Errorf("asking the edge for its mode of execution: %w", err)
	}
	token, err := issueAt(ctx, found, session)
	if err != nil {
		return edgeAccess{}, err
	}
	ca, err := certs.Open(caDir(cfg.data), c.caOptions(cfg))
	if err != nil {
		return edgeAccess{}, err
	}
	address := reachable(found.Proxy)
	fmt.Fprintf(c.stderr, "wayleave: running edge on %s, with its own configuration, execution %s, session %s\n", address, status.Execution, session)
	env := clientEnv{proxyURL(address, session, token), ca.BundleFile(), ca.P12File()}
	return edgeAccess{status.Execution, env, waitingAt(found), func(relay) error {
		if err := stillRuns(cfg.data, found); err != nil {
			return err
		}
		return owesAt(context.WithoutCancel(ctx), found)
	}}, nil
}

// stillRuns tells a run whose edge went away: then its log may end before the
// command did, and what it lacks did not just not happen.
func stillRuns(data string, used ready) error {
	found, running, err := runningEdge(data)
	if err == nil && (!running || found != used) {
		err = errors.New("the edge ended while the command ran, so the summary may not be whole")
	}
	return err
}

// quietLogger is the process log of an edge inside another command: what needs
// attention, beside the command's own output.
func (c *cli) quietLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// runChild runs the command to its end and returns the code to exit with.
func (c *cli) runChild(args []string, env clientEnv, signals relay) (code int, err error) {
	child := exec.Command(args[0], args[1:]...)
	child.Stdin, child.Stdout, child.Stderr = c.stdin, c.stdout, c.stderr
	child.Env = os.Environ()
	for _, v := range env.variables(c.getenv("JAVA_TOOL_OPTIONS")) {
		child.Env = append(child.Env, v.name+"="+v.value)
	}
	if err := child.Start(); err != nil {
		return 0, &exitError{startCode(err), err}
	}
	signals.during(func() { err = child.Wait() }, func(s os.Signal) {
		if !fromTerminal(s) {
			_ = child.Process.Signal(s) // one that has ended needs no signal
		}
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for %s: %w", args[0], err)
	}
	return exitCode(child.ProcessState), nil
}

// startCode is what shells exit with for a command that is not there or cannot
// be run.
func startCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}
