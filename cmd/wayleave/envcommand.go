package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/certs"
)

func (c *cli) envCommand() *cobra.Command {
	var flags configFlags
	var format, session string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment an agent needs",
		Long: `Prints every variable that sends an agent's requests through the edge and makes
it trust the edge's CA, for all runtimes:

  eval "$(wayleave env)"

NO_PROXY is printed empty, so that nothing goes round the edge. Each call makes a
new session unless --session names one; under auth: token it issues a token for
it. Makes the CA if there is none yet.`,
		Args: noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			print, known := envFormats[format]
			if !known {
				return usage(fmt.Errorf("--format is %q; use one of %s", format, formatNames()))
			}
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			env, err := c.clientEnv(cfg, session)
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(print(env.variables(c.getenv("JAVA_TOOL_OPTIONS"))))
			return err
		}),
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&format, "format", "sh", "one of "+formatNames())
	cmd.Flags().StringVar(&session, "session", "", "the session's id; made up when left out")
	return cmd
}

func formatNames() string {
	return strings.Join(slices.Sorted(maps.Keys(envFormats)), ", ")
}

// clientEnv makes the environment of one session that meets the running edge,
// or the one that would be started with cfg.
func (c *cli) clientEnv(cfg *config, given string) (clientEnv, error) {
	session, err := sessionID(given, "env")
	if err != nil {
		return clientEnv{}, err
	}
	address, running, err := c.proxyAddress(cfg)
	if err != nil {
		return clientEnv{}, err
	}
	if !running {
		fmt.Fprintf(c.stderr, "wayleave: no edge is running on %s; these are the configured addresses\n", cfg.data)
	}
	ca, err := certs.Open(caDir(cfg.data), c.caOptions(cfg))
	if err != nil {
		return clientEnv{}, err
	}
	token, err := credential(cfg, session)
	if err != nil {
		return clientEnv{}, err
	}
	return clientEnv{proxyURL(address, session, token), ca.BundleFile(), ca.P12File()}, nil
}
