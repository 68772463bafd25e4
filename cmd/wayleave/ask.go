package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// askOptions are the flags of ask.
type askOptions struct {
	configFlags
	method, userAgent string
	asJSON, exitCode  bool
	noFetch           bool
}

func (c *cli) askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask URL",
		Short: "Say what the ruling on a URL would be, without asking for the page",
		Long: `Says whether a request for URL would be let through, and if not, which term
refuses it, whose term that is, and when to ask again. It rules as an edge with
this configuration would and needs none running. It may ask the site for its
robots.txt, which is kept in the data directory, and never asks for the page.

Exits 3 when the answer hangs on terms that are not held (--no-fetch).`,
		Args: oneArg("URL"),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, o.configFlags)
			if err != nil {
				return err
			}
			return c.ask(cmd.Context(), cfg, o, args[0])
		}),
	}
	o.add(cmd)
	cmd.Flags().StringVar(&o.method, "method", http.MethodGet, "method of the request")
	cmd.Flags().StringVar(&o.userAgent, "user-agent", "", "the agent's own User-Agent")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 when the request would be refused")
	cmd.Flags().BoolVar(&o.noFetch, "no-fetch", false, "ask nobody: answer from the terms that are held")
	return cmd
}

func (c *cli) ask(ctx context.Context, cfg *config, o askOptions, url string) error {
	if _, _, err := splitURL(url); err != nil && !o.asJSON { // whose answer is that of /v1/explain (A11)
		return usage(err)
	}
	x, closeBook, err := openExplainer(cfg)
	if err != nil {
		return err
	}
	request := admin.ExplainRequest{URL: url, Method: o.method, Headers: http.Header{"User-Agent": {o.userAgent}}, Fetch: !o.noFetch}
	answer, err := x.explain(ctx, request)
	if err := errors.Join(err, closeBook(ctx)); err != nil {
		return err
	}
	if o.asJSON {
		err = c.printJSON(answer)
	} else {
		_, err = fmt.Fprint(c.stdout, inWords(answer))
	}
	switch {
	case err != nil:
		return err
	case answer.Outcome == "":
		return &exitError{code: exitUnknown}
	case o.exitCode && answer.Outcome == rulings.Refuse.String():
		return &exitError{code: exitNotSo}
	}
	return nil
}

// openExplainer opens what ruling a URL takes, without an edge.
func openExplainer(cfg *config) (explainer, func(context.Context) error, error) {
	policy := func() *rulings.Policy { return cfg.policy }
	if err := durable.MkdirAll(cfg.data, 0o700); err != nil {
		return explainer{}, nil, err
	}
	up, err := proxy.NewUpstream(proxy.UpstreamOptions{
		Policy: policy, CAFile: cfg.caFile, Proxy: cfg.upstreamProxy.url, HeadTimeout: cfg.headTimeout,
	})
	if err != nil {
		return explainer{}, nil, err
	}
	for _, listener := range []string{cfg.listen, cfg.adminListen} {
		if addr, err := netip.ParseAddrPort(listener); err == nil {
			up.Reserve(addr)
		}
	}
	pacing, closePacing, err := newPacing(cfg, nil, nil)
	if err != nil {
		return explainer{}, nil, err
	}
	book, err := terms.Open(termsDir(cfg.data), terms.Options{
		Client: up, Pacer: pacing, UserAgent: func() string { return proxy.UserAgent(cfg.policy, version()) },
	})
	if err != nil {
		return explainer{}, nil, err
	}
	return explainer{book, policy, pacing, cfg.connectPorts, up.LeadsBack, false, nil}, func(ctx context.Context) error {
		up.Close()
		return errors.Join(book.Close(ctx), closePacing())
	}, nil
}
