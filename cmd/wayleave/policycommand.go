package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/rulings"
)

// starterFile is the configuration that init writes and the policy commands read
// where none is named.
const starterFile = "wayleave.yaml"

// starterNote is what each policy command says of the file it reads.
const starterNote = `
Read is FILE or --config; without either ` + starterFile + ` in the current directory, if
it is there, else the defaults. Variables count as they do for an edge.`

func (c *cli) policyCommand() *cobra.Command {
	return group("policy", "Check and show the operator's policy",
		c.policyCheckCommand(), c.policyShowCommand(), c.policyDigestCommand(), c.policySchemaCommand())
}

// policyFlags are the flags of commands that read a policy.
type policyFlags struct {
	configFlags
	user string
}

// oneFile takes the configuration's file as an argument, too.
func (c *cli) oneFile(do func(s source) error, f *policyFlags) *cobra.Command {
	cmd := &cobra.Command{
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && cmd.Flags().Changed("config") {
				return usage(fmt.Errorf("%s takes one file; see '%[1]s --help'", cmd.CommandPath()))
			}
			return nil
		},
		RunE: action(func(cmd *cobra.Command, args []string) error {
			s := c.source(cmd, f.configFlags, nil)
			if len(args) == 1 {
				s.file = args[0]
			} else if _, err := os.Stat(starterFile); s.file == "" && err == nil {
				s.file = starterFile
			}
			return do(s)
		}),
	}
	f.add(cmd)
	return cmd
}

func (c *cli) policyCheckCommand() *cobra.Command {
	var flags policyFlags
	var asJSON bool
	cmd := c.oneFile(func(s source) error { return c.checkPolicy(s, asJSON) }, &flags)
	cmd.Use, cmd.Short = "check [FILE]", "Check a configuration and list everything that is wrong with it"
	cmd.Long = `Reads the whole configuration and lists every fault with its file and line, what
would be right, and of an unknown key the nearest known one. Exits 1 when there is
any. Touches nothing and asks no edge.
` + starterNote
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) checkPolicy(s source, asJSON bool) error {
	cfg, err := s.whole()
	if asJSON {
		if failed := c.printJSON(policyCheck(cfg, err)); failed != nil || err == nil {
			return failed
		}
		return notSo(nil) // all is said
	}
	if err != nil {
		return notSo(err)
	}
	fmt.Fprintf(c.stdout, "%s: no fault\n%s\n", cmp.Or(s.file, "the defaults"), cfg.policy.Digest())
	for _, o := range cfg.policy.Overlays() {
		fmt.Fprintf(c.stdout, "%s  %s\n", o.Policy.Digest(), o.User)
	}
	return nil
}

// whole loads a configuration that has a policy.
func (s source) whole() (*config, error) {
	cfg, err := s.load()
	if err == nil && cfg.policy == nil {
		err = cfg.policyFaults
	}
	return cfg, err
}

// effective returns the policy that holds for a user of the configuration.
func effective(s source, user string) (*rulings.Policy, error) {
	cfg, err := s.whole()
	if err != nil {
		return nil, usage(err)
	}
	if user == "" {
		return cfg.policy, nil
	}
	return cfg.policy.For(user), nil
}

func (c *cli) policyShowCommand() *cobra.Command {
	var flags policyFlags
	var canonical bool
	cmd := c.oneFile(func(s source) error {
		p, err := effective(s, flags.user)
		if err != nil {
			return err
		}
		text := p.Canonical()
		if !canonical {
			var b bytes.Buffer
			if err := json.Indent(&b, text, "", "  "); err != nil {
				return err
			}
			text = append(b.Bytes(), '\n')
		}
		_, err = c.stdout.Write(text)
		return err
	}, &flags)
	cmd.Use, cmd.Short = "show [FILE]", "Print the effective policy as JSON"
	cmd.Long = `Prints the effective policy: every default filled in, hosts, licences and money in
their normal form, lists without order sorted. It is what records name by its
digest. Touches nothing and asks no edge.
` + starterNote
	cmd.Flags().StringVar(&flags.user, "user", "", "the proxy user whose policy it is, overlays applied")
	cmd.Flags().BoolVar(&canonical, "canonical", false, "print the bytes that the digest is of (RFC 8785), without a line end")
	return cmd
}

func (c *cli) policyDigestCommand() *cobra.Command {
	var flags policyFlags
	cmd := c.oneFile(func(s source) error {
		p, err := effective(s, flags.user)
		if err == nil {
			_, err = fmt.Fprintln(c.stdout, p.Digest())
		}
		return err
	}, &flags)
	cmd.Use, cmd.Short = "digest [FILE]", "Print the digest of the effective policy"
	cmd.Long = `Prints the SHA-256 of the effective policy in its canonical form, as records have
it. Touches nothing and asks no edge.
` + starterNote
	cmd.Flags().StringVar(&flags.user, "user", "", "the proxy user whose policy it is, overlays applied")
	return cmd
}

func (c *cli) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Long: `Prints the JSON Schema that docs/wayleave.schema.json holds, of this version. An
editor checks by it as you type; what it cannot know, such as whether a pattern is
too wide, 'wayleave policy check' says.`,
		Args: noArgs,
		RunE: action(func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(schemaText())
			return err
		}),
	}
}
