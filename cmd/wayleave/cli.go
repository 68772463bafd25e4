package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes (A18).
const (
	exitDone    = 0
	exitNotSo   = 1 // the thing asked about is not so
	exitUsage   = 2 // the command line or the configuration is wrong
	exitUnknown = 3 // could not tell
)

// An exitError ends a command with a code. A nil err says that everything worth
// saying has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// notSo ends a command whose question has the answer no.
func notSo(err error) error { return &exitError{exitNotSo, err} }

// usage ends a command that was called wrongly.
func usage(err error) error { return &exitError{exitUsage, err} }

// A cli is what a command has of the process it runs in.
type cli struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// run executes one command line and returns the exit code. The edge itself
// never uses HTTP_PROXY and the like; getenv is asked for WAYLEAVE_ variables
// and the standard directories only.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{getenv, stdin, stdout, stderr}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return c.report(root.ExecuteContext(ctx))
}

// report prints an error as the last word of a command and returns its code.
func (c *cli) report(err error) int {
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// Only cobra's own errors arrive bare: an unknown command, for one.
		exit = &exitError{exitUsage, err}
	}
	var list faults
	switch {
	case errors.As(exit.err, &list):
		fmt.Fprintln(c.stderr, list)
	case exit.err != nil:
		fmt.Fprintf(c.stderr, "wayleave: %v\n", exit.err)
	}
	return exit.code
}

// root builds the command tree.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "wayleave",
		Short: "A forward proxy that crosses to sites on their published terms and keeps evidence of it",
		Long: `Wayleave is a forward proxy for agents. It rules each request on the terms the
site publishes and on its operator's policy before anything is sent, tells the
agent which term refused it, and has a record of every crossing on disk before
the agent sees the end of the answer.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath()))
	})
	root.AddCommand(
		c.serveCommand(), c.runCommand(), c.envCommand(), c.askCommand(), c.termsCommand(), c.demoCommand(),
		c.caCommand(), c.sessionCommand(), c.verifyCommand(), c.doctorCommand(), c.versionCommand(), configTopic(),
		c.logCommand(), c.repairCommand(), c.policyCommand(), c.initCommand(),
	)
	return root
}

// action adapts what a command does to cobra. An error that has no code of its
// own is one that kept the command from telling.
func action(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		var exit *exitError
		if err == nil || errors.As(err, &exit) {
			return err
		}
		return &exitError{exitUnknown, err}
	}
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// configFlags are the flags that say which configuration holds.
type configFlags struct {
	file, data string
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", "", "configuration file (YAML); see 'wayleave help configuration'")
	cmd.Flags().StringVar(&f.data, "data", "", "data directory")
}

// source returns where the configuration comes from. Of the given flags those
// that were set override keys: flag name to key.
func (c *cli) source(cmd *cobra.Command, f configFlags, overrides map[string]string) source {
	s := source{file: f.file, getenv: c.getenv, flags: map[string]string{}, read: readConfig}
	if cmd.Flags().Changed("data") {
		s.flags["data"] = f.data
	}
	for flag, key := range overrides {
		if cmd.Flags().Changed(flag) {
			s.flags[key] = cmd.Flag(flag).Value.String()
		}
	}
	return s
}

// config loads the configuration; one that does not load is a wrong use.
func (c *cli) config(cmd *cobra.Command, f configFlags) (*config, error) {
	cfg, err := c.source(cmd, f, nil).load()
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}
