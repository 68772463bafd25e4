package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	rulings, asJSON bool
	objects         string
}

func (c *cli) verifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check that logs are whole and true",
		Long: `Checks logs without an edge and without a configuration, and changes nothing. A
PATH is a data directory (all its logs and published runs), the directory of a
run, or a log. Checked are the records themselves, what they refer to, the
windows of edges, the chain of segments and their summaries, a run's summary,
and that the term objects which are named are there and true to their names.
What interrupted runs left in a data directory is named, and changes no verdict.

With --rulings every ruling is made again from the terms and the policy that are
kept. Rulings that cannot be made again are counted apart.

Exits 0 when all is sound and there is no gap, 1 when something is not sound, and
3 when that cannot be told: a gap, an object or a segment that is missing, an
edge that died, a ruling that cannot be made again.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("verify wants a data directory, a run or a log"))
			}
			return nil
		},
		RunE: action(func(cmd *cobra.Command, args []string) error { return c.verify(cmd.Context(), o, args) }),
	}
	cmd.Flags().BoolVar(&o.rulings, "rulings", false, "make every ruling again and compare")
	cmd.Flags().StringVar(&o.objects, "objects", "", "directory of the term objects; by default the nearest terms/objects in or above PATH")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

// A verification is what verify prints (E83).
type verification struct {
	Verdict    evidence.Verdict     `json:"verdict"`
	FirstFault *evidence.Finding    `json:"first_fault,omitempty"`
	Logs       []evidence.LogReport `json:"logs"`
	Left       []string             `json:"unpublished,omitempty"` // by interrupted runs, which have no log to judge
}

// leftByRun says what evidence.Unpublished found.
const leftByRun = "left by an interrupted run, and not published"

func (c *cli) verify(ctx context.Context, o verifyOptions, paths []string) error {
	options := evidence.VerifyOptions{Objects: o.objects}
	if o.rulings {
		options.Decide = newRedecider().decide
	}
	all := verification{Verdict: evidence.Sound}
	for _, path := range paths {
		logs, err := evidence.Verify(ctx, path, options)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // what the other paths have to say is told all the same (E81)
			logs = []evidence.LogReport{notVerified(path, err)}
		}
		all.add(logs)
		left, err := evidence.Unpublished(path)
		if err != nil {
			all.add([]evidence.LogReport{notVerified(filepath.Join(path, "runs"), err)})
		}
		for _, name := range left {
			all.Left = append(all.Left, filepath.Join(path, name))
		}
	}
	var err error
	if o.asJSON {
		err = c.printJSON(all)
	} else {
		err = all.print(c.stdout)
	}
	switch {
	case err != nil:
		return err
	case all.Verdict == evidence.Unsound:
		return &exitError{code: exitNotSo}
	case all.Verdict != evidence.Sound:
		return &exitError{code: exitUnknown}
	}
	return nil
}

// notVerified reports a path at which no log could be found.
func notVerified(path string, err error) evidence.LogReport {
	return evidence.LogReport{
		Log: path, Verdict: evidence.CouldNotTell, Crossings: map[evidence.Grade]map[evidence.Outcome]int{}, Gaps: map[string]int{},
		Doubted: 1, Doubts: []evidence.Finding{{Log: path, What: err.Error()}},
	}
}

func (v *verification) add(logs []evidence.LogReport) {
	for i := range logs {
		r := &logs[i]
		if first := r.FirstFault(); first != nil && v.Verdict.Worst(r.Verdict) != v.Verdict {
			v.FirstFault = first // the first of the worst kind
		}
		v.Verdict = v.Verdict.Worst(r.Verdict)
	}
	v.Logs = append(v.Logs, logs...)
}

// print writes what was found for a person.
func (v *verification) print(w io.Writer) error {
	var b strings.Builder
	for i := range v.Logs {
		printLog(&b, &v.Logs[i])
	}
	for _, name := range v.Left {
		fmt.Fprintf(&b, "%s: %s\n", name, leftByRun)
	}
	fmt.Fprintf(&b, "%s\n", inOneWord(v.Verdict))
	_, err := io.WriteString(w, b.String())
	return err
}

// inOneWord is the verdict as a person reads it.
func inOneWord(v evidence.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

func printLog(b *strings.Builder, r *evidence.LogReport) {
	fmt.Fprintf(b, "%s: %s\n  %d records, %d segments, %d torn lines marked\n", r.Log, inOneWord(r.Verdict), r.Records, r.Segments, r.Tears)
	for _, grade := range slices.Sorted(maps.Keys(r.Crossings)) {
		fmt.Fprintf(b, "  crossings %s: %s\n", grade, counts(r.Crossings[grade]))
	}
	if len(r.Gaps) > 0 {
		fmt.Fprintf(b, "  gaps: %s\n", counts(r.Gaps))
	}
	if n := r.Rulings; n != nil {
		fmt.Fprintf(b, "  rulings: %d same, %d different, %d not recomputable", n.Same, n.Different, n.NotRecomputed)
		if len(n.Causes) > 0 {
			fmt.Fprintf(b, " (%s)", counts(n.Causes))
		}
		if n.Beside > 0 {
			fmt.Fprintf(b, "; %d stopped by something else than a ruling", n.Beside)
		}
		b.WriteString("\n")
	}
	for _, edge := range r.OpenEdges {
		fmt.Fprintf(b, "  edge %s is running and may append\n", edge)
	}
	printFindings(b, "unsound", r.Faults, r.Faulty)
	printFindings(b, "could not tell", r.Doubts, r.Doubted)
}

// printFindings writes findings, the first one of the log first.
func printFindings(b *strings.Builder, kind string, list []evidence.Finding, all int) {
	for _, f := range list {
		fmt.Fprintf(b, "  %s: ", kind)
		switch {
		case f.Line > 0:
			fmt.Fprintf(b, "segment %d, line %d, octet %d: ", f.Segment, f.Line, f.Offset)
		case f.Segment > 0:
			fmt.Fprintf(b, "segment %d: ", f.Segment)
		}
		fmt.Fprintln(b, f.What)
	}
	if more := all - len(list); more > 0 {
		fmt.Fprintf(b, "  %s: and %d more\n", kind, more)
	}
}

// counts writes numbers by name, sorted by name.
func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}
