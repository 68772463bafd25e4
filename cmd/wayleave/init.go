package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// starter is the configuration that init writes: the defaults, with what is mostly
// changed in comments. A comment that begins without a blank is a key to be tried
// by taking its # away; a test does that with all of them.
//
//go:embed init.yaml
var starter string

func (c *cli) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration to start from, with comments",
		Long: `Writes a configuration that says what holds without one, with examples of what is
mostly changed in comments. FILE is ` + starterFile + ` in the current directory when left
out; - prints it. A file that is there is never overwritten. Touches nothing else.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("%s takes one file; see '%[1]s --help'", cmd.CommandPath()))
			}
			return nil
		},
		RunE: action(func(_ *cobra.Command, args []string) error {
			file := starterFile
			if len(args) == 1 {
				file = args[0]
			}
			return c.writeStarter(file)
		}),
	}
}

func (c *cli) writeStarter(file string) error {
	if file == "-" {
		_, err := fmt.Fprint(c.stdout, starter)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return notSo(fmt.Errorf("%s is there already, and was left as it is", file))
	}
	if err != nil {
		return fmt.Errorf("writing a configuration: %w", err)
	}
	_, err = f.WriteString(starter)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing a configuration: %w", err)
	}
	fmt.Fprintf(c.stdout, "%s is written. Check it with\n  wayleave policy check %[1]s\nand start an edge on it with\n  wayleave serve --config %[1]s\n", shWord(file))
	return nil
}
