package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/rulings"
)

// A demoVisit is one page of the demo and what must come of asking for it.
type demoVisit struct {
	host, path string
	why        string
	want       rulings.Reason // empty: delivered
}

// demoVisits are the pages the demo crosses to, in order.
var demoVisits = []demoVisit{
	{"plain", "/page", "nothing speaks against it", ""},
	{"plain", "/private/notes", "Disallow: /private/", rulings.RobotsDisallow},
	{"plain", "/private/press/kit", "the longer Allow: /private/press/", ""},
	{"plain", "/big", "a big file, streamed", ""},
	{"plain", "/events", "a stream of events", ""},
	{"named", "/drafts/one", "a group that names wayleave", rulings.RobotsDisallow},
	{"named", "/page", "the same group, another path", ""},
	{"silent", "/page", "robots.txt is 404: nothing is stated", ""},
	{"failing", "/page", "robots.txt is 503: nothing may be assumed", rulings.RobotsUnreachable},
	{"moved", "/old/page", "robots.txt was found behind a redirect", rulings.RobotsDisallow},
	{"moved", "/new/page", "the same file, another path", ""},
	{"usage", "/page", "Content-Usage: ai-use=y", ""},
	{"usage", "/archive/1", "Content-Usage: /archive/ ai-use=n", rulings.ContentUsage},
	{"signal", "/page", "Content-Signal: ai-input=no", rulings.ContentSignal},
	{"free", "/page", "an RSL licence that is free", ""},
	{"priced", "/page", "an RSL licence that wants a payment", rulings.LicencePayment},
	{"unclear", "/page", "the licence is no RSL document", rulings.LicenceUnread},
	{"header", "/page", "X-Robots-Tag: noai on the answer", rulings.NoAI},
	{"inhtml", "/article", "a licence in the page's own head", rulings.LicenceProhibits},
	{"", "http://169.254.169.254/latest/meta-data/", "an address that is not public", rulings.PrivateAddress},
}

// demoFlags are the flags of demo.
type demoFlags struct {
	data string
	keep bool
}

func (c *cli) demoCommand() *cobra.Command {
	var o demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Cross to a small site of the demo's own and show each ruling",
		Long: `Starts a few sites on loopback, with a CA of their own that is thrown away, and
an edge in a fresh data directory. Crosses to each page through the edge, asks
what 'wayleave ask' says of it, and prints both beside the number of the record.
Nothing outside this machine is asked for. Exits 0 only when every ruling is as
it should be.

The data directory stays, so that the evidence can be read and 'wayleave ask'
answers from the terms kept there.`,
		Args: noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), o) }),
	}
	cmd.Flags().StringVar(&o.data, "data", "", "data directory, new or empty; by default a new one in the temporary directory")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the sites and the edge running until SIGINT or SIGTERM")
	return cmd
}

// demo is the whole demonstration.
func (c *cli) demo(ctx context.Context, o demoFlags) error {
	dir, err := demoDir(o.data)
	if err != nil {
		return err
	}
	web, err := startDemoWeb(time.Now())
	if err != nil {
		return err
	}
	defer web.close()
	src, err := writeDemoConfig(dir, web)
	if err != nil {
		return err
	}
	cfg, err := src.load()
	if err != nil {
		return err
	}
	signals := relaySignals(syscall.SIGTERM, syscall.SIGINT)
	defer signals.stop()
	e, err := startEdge(ctx, cfg, edgeOptions{source: src, log: c.quietLogger(), systemRoots: c.getenv("SSL_CERT_FILE")})
	if err != nil {
		return startError(err)
	}
	rows, err := e.demoRows(ctx, web)
	if err == nil {
		err = c.printDemo(dir, rows)
	}
	if err == nil && o.keep {
		fmt.Fprintf(c.stdout, "Running until SIGINT: proxy http://%s, admin http://%s (token in %s)\n", e.at.Proxy, e.at.Admin, e.at.Token)
		<-signals.signals
	}
	return errors.Join(err, e.stop(ctx, signals))
}

// demoDir returns the directory of a demo, which must not hold an earlier one:
// terms kept there would be those of other sites.
func demoDir(given string) (string, error) {
	if given == "" {
		return os.MkdirTemp("", "wayleave-demo-")
	}
	dir, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", usage(fmt.Errorf("%s is not empty; the demo wants a fresh data directory", dir))
	}
	return dir, nil
}

// writeDemoConfig writes the configuration an edge needs for the demo's sites.
func writeDemoConfig(dir string, web *demoWeb) (source, error) {
	ports := web.ports()
	slices.Sort(ports)
	text := `# The configuration of a 'wayleave demo'.
listen: 127.0.0.1:0
admin:
  listen: 127.0.0.1:0
data: .
connect_ports: [` + strings.Join(ports, ", ") + `]
upstream:
  ca_file: site-ca.pem
policy:
  allow_private: [127.0.0.0/8]
`
	file := filepath.Join(dir, "wayleave.yaml")
	err := errors.Join(
		durable.WriteFile(filepath.Join(dir, "site-ca.pem"), web.ca.pem, 0o600),
		durable.WriteFile(file, []byte(text), 0o600),
	)
	// Whatever variables are set here, the demo is always the same.
	return source{file: file, getenv: func(string) string { return "" }, read: readConfig}, err
}

// printDemo prints the table and what to do next. It is an error when a row is
// not as it should be.
func (c *cli) printDemo(dir string, rows []demoRow) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PAGE\tRULING\tREASON\tRECORD\tASK AGREES\tBECAUSE")
	wrong := 0
	for _, r := range rows {
		verdict := "yes"
		if r.answered {
			verdict = "not seen" // only the answer says so, and ask asks for none
		}
		if r.fault != "" {
			verdict, wrong = "NO: "+r.fault, wrong+1
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.url, r.outcome, orDash(string(r.reason)), strconv.FormatUint(r.number, 10), verdict, r.why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "\nThe evidence of these crossings is in %s\n", filepath.Join(dir, "sessions", demoSession))
	fmt.Fprintf(c.stdout, "Ask again, without the sites:\n  wayleave ask --config %s --data %s %s\n",
		shWord(filepath.Join(dir, "wayleave.yaml")), shWord(dir), rows[1].url)
	if wrong > 0 {
		return notSo(fmt.Errorf("%d of %d rulings are not as they should be", wrong, len(rows)))
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
