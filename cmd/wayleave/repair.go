package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
)

func (c *cli) repairCommand() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "repair [SESSION...]",
		Short: "Mark what crashes left in the logs",
		Long: `Does for the logs of the data directory, or of the sessions named, what the next
edge that opens them would do: a torn last line is marked, edges that died are
told of, a seal that was cut short is finished. Nothing that is in a log is
changed or taken out. Edges may go on running meanwhile. Damage is named and
left as it is: exit 1. What interrupted runs left is named as well.`,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			return c.repair(cmd.Context(), cfg, args)
		}),
	}
	flags.add(cmd)
	return cmd
}

func (c *cli) repair(ctx context.Context, cfg *config, only []string) (err error) {
	sessions, err := allSessions(cfg.data)
	if err != nil {
		return err
	}
	for _, id := range only {
		if !slices.ContainsFunc(sessions, func(s evidence.SessionInfo) bool { return s.Session == id }) {
			return fmt.Errorf("there is no log of session %q", id)
		}
	}
	store, err := evidence.Open(cfg.data, evidence.Options{
		Version: version(), Execution: "offline", AppendWait: cfg.appendWait,
		SecretNames: cfg.secretNames, SecretPaths: cfg.secretPaths,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	damaged, repaired := 0, 0
	for _, s := range sessions {
		if len(only) > 0 && !slices.Contains(only, s.Session) {
			continue
		}
		n, err := c.repairOne(ctx, cfg, store, s)
		if err != nil {
			return fmt.Errorf("repairing the log of %s: %w", s.Session, err)
		}
		repaired += n
		damaged += s.Completeness.Damaged
	}
	if len(only) == 0 {
		left, err := evidence.Unpublished(cfg.data)
		if err != nil {
			return err
		}
		for _, name := range left {
			fmt.Fprintf(c.stdout, "%s\t%s\n", name, leftByRun)
		}
	}
	fmt.Fprintf(c.stdout, "%d logs repaired\n", repaired)
	if damaged > 0 {
		return notSo(fmt.Errorf("%d places of the logs are damaged, which nothing mends", damaged))
	}
	return nil
}

// repairOne repairs one log if there is anything to do, and returns how many it
// repaired.
func (c *cli) repairOne(ctx context.Context, cfg *config, store *evidence.Store, s evidence.SessionInfo) (int, error) {
	if fault := s.Completeness.Fault; fault != "" {
		return 0, errors.New(fault)
	}
	for _, d := range s.Completeness.Damage {
		fmt.Fprintf(c.stdout, "%s\tdamaged: segment %06d, line %d, offset %d: %s\n", s.Session, d.Segment, d.Line, d.Offset, d.Fault)
	}
	found, err := evidence.Unfinished(cfg.data, s)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	if err := store.Repair(ctx, s.Session); err != nil {
		return 0, err
	}
	for _, what := range found {
		fmt.Fprintf(c.stdout, "%s\trepaired: %s\n", s.Session, what)
	}
	return 1, nil
}
