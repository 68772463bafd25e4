package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
)

func (c *cli) logCommand() *cobra.Command {
	return group("log", "Read the logs, whether an edge writes them or not",
		c.logShowCommand(), c.logTailCommand(), c.logGapsCommand())
}

func (c *cli) logShowCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show LOG",
		Short: "Print a log",
		Long: `LOG is a session's id, or runs/ and the id of a published run. Prints its records
in their order, each on a line. Damage is named where it stands, on stderr:
exit 1. Segments that are not there and a torn last line that nothing marks are
named as well: exit 3. Writes nothing.`,
		Args: oneArg("log"),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			_, err = c.printLog(cmd.Context(), cfg, args[0], evidence.Position{}, recordPrinter(asJSON))
			return err
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as they are in the log")
	return cmd
}

func (c *cli) logTailCommand() *cobra.Command {
	var flags configFlags
	var asJSON, follow bool
	var lines int
	cmd := &cobra.Command{
		Use:   "tail LOG",
		Short: "Print the end of a log, and what is added to it",
		Long: `Prints the last records of a log. With --follow it goes on with those
that are added, until a signal comes. Exits as 'wayleave log show' does.`,
		Args: oneArg("log"),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			if lines < 0 || lines > maxTail {
				return usage(fmt.Errorf("--lines is %d; use 0 to %d", lines, maxTail))
			}
			at, err := lastLines(cmd.Context(), cfg.data, args[0], lines)
			if err != nil {
				return err
			}
			if follow {
				return c.followLog(cmd.Context(), cfg, args[0], at, recordPrinter(asJSON))
			}
			_, err = c.printLog(cmd.Context(), cfg, args[0], at, recordPrinter(asJSON))
			return err
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as they are in the log")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what is added")
	cmd.Flags().IntVar(&lines, "lines", 10, "how many of the last records")
	return cmd
}

// maxTail bounds what log tail has to remember: the places of that many records.
const maxTail = 100_000

// lastLines returns where the last n records of a log begin. It keeps their
// places and not the records, which may be of any size.
func lastLines(ctx context.Context, data, session string, n int) (evidence.Position, error) {
	r, err := evidence.OpenReader(data, session, evidence.ReadOptions{})
	if err != nil {
		return evidence.Position{}, noLog(session, err)
	}
	defer r.Close()
	ring := []evidence.Position{{}}
	for {
		_, err := r.Next(ctx)
		var damage *evidence.DamageError
		if errors.As(err, &damage) {
			continue
		}
		if err == io.EOF {
			return ring[0], nil
		}
		if err != nil {
			return evidence.Position{}, err
		}
		if ring = append(ring, r.Position()); len(ring) > n+1 {
			ring = ring[1:]
		}
	}
}

// noLog says in a command's words that a session has no log.
func noLog(session string, err error) error {
	if errors.Is(err, evidence.ErrNotFound) {
		return fmt.Errorf("there is no log of %q", session)
	}
	return err
}

// printLog prints a log from a position on, and returns where it ended. The error
// says how the log is not whole.
func (c *cli) printLog(ctx context.Context, cfg *config, session string, from evidence.Position, print printer) (evidence.Position, error) {
	r, err := evidence.OpenReader(cfg.data, session, evidence.ReadOptions{From: from})
	if err != nil {
		return from, noLog(session, err)
	}
	defer r.Close()
	c.printMissing(session, r.Missing())
	damaged := 0
	for {
		e, err := r.Next(ctx)
		var damage *evidence.DamageError
		switch {
		case err == nil:
			if err := print(c.stdout, session, e); err != nil {
				return from, err
			}
			continue
		case errors.As(err, &damage):
			damaged++
			fmt.Fprintf(c.stderr, "wayleave: damaged: %v\n", err)
			continue
		case err != io.EOF:
			return from, err
		case damaged > 0:
			return r.Position(), notSo(fmt.Errorf("%d places of the log are damaged", damaged))
		}
		if t := r.Tear(); t != nil && !t.Writing {
			return r.Position(), fmt.Errorf("segment %06d, line %d: the last line was cut short after %d octets and nothing says so yet; the next edge, or 'wayleave repair', marks it", t.Segment, t.Line, t.Bytes)
		}
		if len(r.Missing()) > 0 {
			return r.Position(), &exitError{code: exitUnknown} // all is said
		}
		return r.Position(), nil
	}
}

// printMissing names the segments of a log that are not there, as verify does.
func (c *cli) printMissing(session string, missing []string) {
	for _, numbers := range missing {
		fmt.Fprintf(c.stderr, "wayleave: %s: segment %s is not there\n", session, numbers)
	}
}

// followEvery is how often a log that is followed is looked at again.
const followEvery = 200 * time.Millisecond

// followLog prints what is added to a log until a signal comes. What is torn or
// damaged at the end may yet be explained by what follows: it is named once, as are
// segments that are not there.
func (c *cli) followLog(ctx context.Context, cfg *config, session string, at evidence.Position, print printer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	f := follower{c: c, cfg: cfg, session: session, at: at, print: print}
	for {
		if err := f.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// A follower prints a log as it grows.
type follower struct {
	c       *cli
	cfg     *config
	session string
	at      evidence.Position
	shown   evidence.Position // of the last damage named
	missing []string          // segments, as named last
	print   printer
}

// look prints what was settled since the last look.
func (f *follower) look(ctx context.Context) error {
	r, err := evidence.OpenReader(f.cfg.data, f.session, evidence.ReadOptions{From: f.at})
	if err != nil {
		return noLog(f.session, err)
	}
	defer r.Close()
	if missing := r.Missing(); !slices.Equal(missing, f.missing) {
		f.c.printMissing(f.session, missing)
		f.missing = missing
	}
	for {
		e, err := r.Next(ctx)
		var damage *evidence.DamageError
		switch {
		case errors.As(err, &damage):
			if at := (evidence.Position{Segment: damage.Segment, Offset: damage.Offset}); at != f.shown {
				f.shown = at
				fmt.Fprintf(f.c.stderr, "wayleave: damaged: %v\n", err)
			}
			continue
		case err == io.EOF:
			f.at = r.Position()
			return nil
		case err != nil:
			return err
		}
		if at := r.Position(); at.Segment == e.Segment && at.Offset <= e.Offset {
			continue // it lacks its end: it is read again when it has one
		}
		if err := f.print(f.c.stdout, f.session, e); err != nil {
			return err
		}
		f.at = r.Position()
	}
}
