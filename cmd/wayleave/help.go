package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// noArgs refuses arguments as a wrong use.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no argument, but got %q; see '%[1]s --help'", cmd.CommandPath(), args[0]))
	}
	return nil
}

// oneArg wants exactly one argument, called name.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(fmt.Errorf("%s wants one %s, but got %d; see '%[1]s --help'", cmd.CommandPath(), name, len(args)))
		}
		return nil
	}
}

// configTopic is the help text of the configuration: 'wayleave help configuration'.
func configTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "configuration",
		Short: "The keys of the configuration file, their variables and defaults",
		Long:  configHelp(),
	}
}

func configHelp() string {
	var b strings.Builder
	b.WriteString(`No configuration is needed. A file given by --config is YAML, with dotted keys
nested (admin.listen is listen under admin). Flags win over the environment,
that over the file, that over the defaults. In the environment lists are parted
by commas, and an empty variable counts as not set. Unknown keys and bad values
are errors; those of the section policy leave the edge running without a policy,
refusing everything, until a reload (SIGHUP) finds it in order.

`)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVARIABLE\tDEFAULT\tMEANING")
	for _, k := range configKeys {
		def := k.def
		if def == "" {
			def = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.name, k.variable(), def, k.doc)
	}
	w.Flush()
	return b.String()
}
