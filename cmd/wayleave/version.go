package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/rulings"
)

// version is what the Go command stamped into the binary: a tag, or the commit
// it was built from. It goes into User-Agent, so it has no parentheses.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return strings.TrimPrefix(strings.Trim(info.Main.Version, "()"), "v")
}

// versionFacts is what `version --json` prints.
type versionFacts struct {
	Version string `json:"version"`
	Ruleset string `json:"ruleset"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the version of the decision rules",
		Args:  noArgs,
		RunE: action(func(*cobra.Command, []string) error {
			v := versionFacts{version(), rulings.Ruleset, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return c.printJSON(v)
			}
			_, err := fmt.Fprintf(c.stdout, "wayleave %s (%s, %s, %s/%s)\n", v.Version, v.Ruleset, v.Go, v.OS, v.Arch)
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printJSON prints v as indented JSON.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
