package main

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayleave/wayleave/certs"
)

// caOptions are how every command opens the authority of a data directory.
func (c *cli) caOptions(cfg *config) certs.Options {
	return certs.Options{SystemRoots: c.getenv("SSL_CERT_FILE"), ExtraRoots: cfg.caFile}
}

func (c *cli) caCommand() *cobra.Command {
	return group("ca", "Show the edge's CA and the bundles made from it", c.caShowCommand(), c.caBundleCommand())
}

// caFacts is what `ca show --json` prints.
type caFacts struct {
	Subject   string    `json:"subject"`
	SHA256    string    `json:"sha256"` // fingerprint of the certificate
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	CA        string    `json:"ca"`
	Bundle    string    `json:"bundle"`
	Java      string    `json:"java"`
}

func (c *cli) caShowCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the CA's fingerprint, its time and its files",
		Long:  "Prints the CA's fingerprint, its time and its files. Makes the CA if there is none yet.",
		Args:  noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			a, err := c.authority(cmd, flags)
			if err != nil {
				return err
			}
			facts, err := factsOf(a)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(facts)
			}
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "subject\t%s\nsha256\t%s\nvalid\t%s to %s\nca\t%s\nbundle\t%s\njava\t%s\n", facts.Subject, facts.SHA256,
				facts.NotBefore.Format(time.DateOnly), facts.NotAfter.Format(time.DateOnly), facts.CA, facts.Bundle, facts.Java)
			return w.Flush()
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) caBundleCommand() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Print the system's roots and the edge's CA as one PEM file",
		Long:  "Prints the system's roots and the edge's CA as one PEM file. Makes the CA if there is none yet.",
		Args:  noArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			a, err := c.authority(cmd, flags)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(a.BundleFile())
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(text)
			return err
		}),
	}
	flags.add(cmd)
	return cmd
}

func (c *cli) authority(cmd *cobra.Command, flags configFlags) (*certs.Authority, error) {
	cfg, err := c.config(cmd, flags)
	if err != nil {
		return nil, err
	}
	return certs.Open(caDir(cfg.data), c.caOptions(cfg))
}

func factsOf(a *certs.Authority) (caFacts, error) {
	block, _ := pem.Decode(a.PEM())
	if block == nil {
		return caFacts{}, errors.New("the CA's certificate is no PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return caFacts{}, fmt.Errorf("reading the CA's certificate: %w", err)
	}
	sum := sha256.Sum256(cert.Raw)
	return caFacts{
		Subject: cert.Subject.String(), SHA256: hex.EncodeToString(sum[:]),
		NotBefore: cert.NotBefore, NotAfter: cert.NotAfter,
		CA: a.CAFile(), Bundle: a.BundleFile(), Java: a.P12File(),
	}, nil
}
