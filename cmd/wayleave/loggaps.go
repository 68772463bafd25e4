package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
)

func (c *cli) logGapsCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps [SESSION...]",
		Short: "Print what the logs could not say",
		Long: `Prints the gaps of the logs, or of the sessions named: those of the logs
themselves and those of single crossings, each on a line. Of all logs, what
interrupted runs left is named on stderr. Exits as 'wayleave log show' does.
Writes nothing.`,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			return c.printGaps(cmd.Context(), cfg, args, gapPrinter(asJSON))
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each gap, on a line of its own")
	return cmd
}

// printGaps prints the gaps of the logs in turn. It goes through all of them, and
// returns the worst way in which one is not whole (E81): damage, if there is any.
func (c *cli) printGaps(ctx context.Context, cfg *config, sessions []string, print printer) (worst error) {
	if len(sessions) == 0 {
		var err error
		if sessions, err = evidence.LogNames(cfg.data); err != nil {
			return err
		}
		left, err := evidence.Unpublished(cfg.data)
		if err != nil {
			return err
		}
		for _, name := range left {
			fmt.Fprintf(c.stderr, "wayleave: %s: %s\n", name, leftByRun)
		}
	}
	for _, session := range sessions {
		_, err := c.printLog(ctx, cfg, session, evidence.Position{}, print)
		exit, coded := errors.AsType[*exitError](err)
		if err != nil && (worst == nil || coded && exit.code == exitNotSo) {
			worst = err
		}
	}
	return worst
}
