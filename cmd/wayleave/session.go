package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/proxy"
)

// newSessionID makes an id that says what it belongs to and when it began.
func newSessionID(prefix string, now time.Time) string {
	var random [4]byte
	rand.Read(random[:])
	return fmt.Sprintf("%s-%s-%s", prefix, now.UTC().Format("20060102T150405Z"), hex.EncodeToString(random[:]))
}

// sessionID checks a given id, or makes one for prefix when none is given (E2).
func sessionID(given, prefix string) (string, error) {
	if given == "" {
		return newSessionID(prefix, time.Now()), nil
	}
	if !evidence.ValidSession(given) {
		return "", usage(fmt.Errorf("%q is no session id: use 1 to 128 letters, digits, '.', '_' and '-', not beginning with '.'", given))
	}
	if evidence.OwnSession(given) {
		return "", usage(fmt.Errorf("%q is the id of an edge's own log", given))
	}
	return given, nil
}

// credential returns what a session presents as its password: a token issued
// now under auth: token, nothing otherwise.
func credential(cfg *config, session string) (secret, error) {
	if cfg.auth != authToken {
		return "", nil
	}
	issued, err := proxy.OpenCredentials(credentialsFile(cfg.data))
	if err != nil {
		return "", err
	}
	token, err := issued.Issue(session)
	return secret(token), err
}

func (c *cli) sessionCommand() *cobra.Command {
	return group("session", "Make and list sessions", c.sessionNewCommand(), c.sessionListCommand())
}

// newSession is what `session new --json` prints.
type newSession struct {
	Session string `json:"session"`
	Token   string `json:"token,omitempty"`
	Proxy   string `json:"proxy"`
}

func (c *cli) sessionNewCommand() *cobra.Command {
	var flags configFlags
	var id string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a session and print how an agent presents it",
		Long: `Makes a session id and prints the proxy URL that carries it. Under auth: token a
token is issued, which takes the place of an earlier one of that session; it is
stored hashed, so it cannot be shown again. Touches credentials.json only.`,
		Args: noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			return c.newSession(cfg, id, asJSON)
		}),
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&id, "session", "", "the session's id; made up when left out")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) newSession(cfg *config, given string, asJSON bool) error {
	id, err := sessionID(given, "session")
	if err != nil {
		return err
	}
	address, _, err := c.proxyAddress(cfg)
	if err != nil {
		return err
	}
	token, err := credential(cfg, id)
	if err != nil {
		return err
	}
	s := newSession{id, string(token), proxyURL(address, id, token).String()}
	if asJSON {
		return c.printJSON(s)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "session\t%s\n", s.Session)
	if s.Token != "" {
		fmt.Fprintf(w, "token\t%s\n", s.Token)
	}
	fmt.Fprintf(w, "proxy\t%s\n", s.Proxy)
	return w.Flush()
}

// proxyAddress is where agents connect: the running edge's listener, else the
// configured one. A configured port 0 is no address anybody could use.
func (c *cli) proxyAddress(cfg *config) (address string, running bool, err error) {
	found, running, err := runningEdge(cfg.data)
	if err != nil {
		return "", false, err
	}
	if running {
		return reachable(found.Proxy), true, nil
	}
	if isPortZero(cfg.listen) {
		return "", false, notSo(errors.New("no edge is running, and the configured port is only known once one runs; start 'wayleave serve'"))
	}
	return reachable(cfg.listen), false, nil
}

func (c *cli) sessionListCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions that have a log",
		Long:  "Lists the sessions of the data directory that have a log. Writes nothing.",
		Args:  noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.config(cmd, flags)
			if err != nil {
				return err
			}
			return c.listSessions(cfg, asJSON)
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) listSessions(cfg *config, asJSON bool) error {
	sessions, err := allSessions(cfg.data)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(map[string][]evidence.SessionInfo{"items": sessions})
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tSTATE\tFIRST\tLAST\tDELIVERED\tREFUSED\tGAPS")
	for _, s := range sessions {
		gaps := 0
		for _, n := range s.Gaps {
			gaps += n
		}
		n := s.Crossings[evidence.Mediated]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\n", s.Session, s.State, s.First, s.Last, n[evidence.Delivered], n[evidence.Refused], gaps)
	}
	return w.Flush()
}
