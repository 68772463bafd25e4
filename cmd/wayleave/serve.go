package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	configFlags
	listen, admin string
	logFormat     string
	readyFile     string
	exposed       bool
	offline       bool
}

func (c *cli) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run an edge until it is told to stop",
		Long: `Runs an edge: the proxy that agents connect to, and the admin API. No
configuration is needed. The first start makes a CA and an admin token in the
data directory.

SIGTERM and SIGINT let exchanges end for shutdown_grace, then close the logs and
exit 0, or 3 when evidence is still owed. A second one does not wait for
exchanges. SIGHUP reads the configuration again and puts its policy in force if
all of it loads.

With --offline only hosts that policy.allow_private names are asked; the others are
refused before their names are resolved.`,
		Args: noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error { return c.serve(cmd, o) }),
	}
	o.add(cmd)
	cmd.Flags().StringVar(&o.listen, "listen", "", "address for agents (key listen)")
	cmd.Flags().StringVar(&o.admin, "admin", "", "address for operators (key admin.listen)")
	cmd.Flags().StringVar(&o.logFormat, "log-format", "text", "form of the process log: text or json")
	cmd.Flags().StringVar(&o.readyFile, "ready-file", "", "file to write, as JSON, once the edge is ready")
	cmd.Flags().BoolVar(&o.offline, "offline", false, "ask only hosts that policy.allow_private names")
	cmd.Flags().BoolVar(&o.exposed, "i-know-this-is-open", false, "let auth: open listen beyond loopback")
	return cmd
}

func (c *cli) serve(cmd *cobra.Command, o serveOptions) error {
	log, err := c.logger(o.logFormat)
	if err != nil {
		return err
	}
	src := c.source(cmd, o.configFlags, map[string]string{"listen": "listen", "admin": "admin.listen"})
	cfg, err := src.load()
	if err != nil {
		return usage(err)
	}
	signals := relaySignals(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signals.stop()

	e, err := startEdge(cmd.Context(), cfg, edgeOptions{source: src, log: log, systemRoots: c.getenv("SSL_CERT_FILE"), exposed: o.exposed, mode: executionMode{offline: o.offline}})
	if err != nil {
		return startError(err)
	}
	if err := c.announce(e, o.readyFile); err != nil {
		return notSo(errors.Join(err, e.close(cmd.Context())))
	}
	ended := e.attend(cmd.Context(), signals.signals)
	if err := e.stop(cmd.Context(), signals); err != nil {
		return err
	}
	return ended
}

// startError gives a failed start its code: 1 unless it is a wrong use.
func startError(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return notSo(fmt.Errorf("the edge does not start: %w", err))
}

// logger makes the process log.
func (c *cli) logger(format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(c.stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.stderr, nil)), nil
	}
	return nil, usage(fmt.Errorf("--log-format is %q; use text or json", format))
}

// announce writes the ready file and prints what an agent needs to know.
func (c *cli) announce(e *edge, readyFile string) error {
	fmt.Fprintf(c.stdout, "proxy   http://%s  (execution %s, auth %s)\n", reachable(e.at.Proxy), e.execution(), e.cfg.auth)
	fmt.Fprintf(c.stdout, "trust   %s\n", e.authority.BundleFile())
	fmt.Fprintf(c.stdout, "agents  eval \"$(wayleave env%s)\"\n", dataFlag(e.cfg, c.getenv))
	fmt.Fprintf(c.stdout, "admin   http://%s  (token in %s)\n", reachable(e.at.Admin), e.at.Token)
	if readyFile == "" {
		return nil
	}
	if err := durable.WriteFile(readyFile, e.at.json(), 0o600); err != nil {
		return fmt.Errorf("writing the ready file: %w", err)
	}
	return nil
}

// dataFlag is what a command of this machine needs to find the same data
// directory: nothing when it is the default one.
func dataFlag(cfg *config, getenv func(string) string) string {
	if cfg.data == defaultData(getenv) {
		return ""
	}
	return " --data " + shWord(cfg.data)
}

// attend serves until a signal or ctx ends it, or a listener ends by itself,
// which is the error. SIGHUP reloads the policy.
func (e *edge) attend(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGHUP {
				e.log.Info("stopping", "signal", s.String(), "grace", e.cfg.shutdownGrace.String())
				return nil
			}
			_, _ = e.reload() // said in the log already; the old policy stays
		case err := <-e.failed:
			return notSo(fmt.Errorf("a listener ended: %w", err))
		case <-ctx.Done():
			return nil
		}
	}
}

// stop drains and closes the edge. A signal that comes meanwhile ends the drain
// at once; what was still going on is broken off and recorded so.
func (e *edge) stop(ctx context.Context, signals relay) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.shutdownGrace)
	defer cancel()
	signals.during(func() { err = e.close(ctx) }, func(s os.Signal) {
		if s != syscall.SIGHUP {
			cancel()
		}
	})
	if errors.Is(err, evidence.ErrOwed) {
		return &exitError{exitUnknown, err}
	}
	if err != nil {
		return notSo(err)
	}
	e.log.Info("stopped")
	return nil
}
