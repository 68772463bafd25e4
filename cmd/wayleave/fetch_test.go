package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// fetchMain is a client as an agent would be, with the flags that curl has for
// the same:
//
//	fetch [-i] [-H FIELD]... URL...
//
// It prints each body, behind its status line and fields with -i, and exits 0
// for 2xx answers or with -i, 1 otherwise. It reads HTTPS_PROXY itself, because
// Go's own reading of it leaves loopback targets out.
func fetchMain() {
	c := fetcher{header: http.Header{}}
	flags := flag.NewFlagSet("fetch", flag.ExitOnError)
	flags.BoolVar(&c.head, "i", false, "print the status line and the fields")
	flags.Func("H", "field of the request", func(line string) error {
		name, value, _ := strings.Cut(line, ":")
		c.header.Add(name, strings.TrimSpace(value))
		return nil
	})
	_ = flags.Parse(os.Args[1:])
	if err := c.fetch(flags.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

// A fetcher fetches URLs, one after the other.
type fetcher struct {
	head   bool
	header http.Header
}

func (c *fetcher) fetch(targets []string) error {
	via, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	bundle, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	if err != nil || !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("SSL_CERT_FILE: %w", err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(via), TLSClientConfig: &tls.Config{RootCAs: roots}}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, target := range targets {
		if err := c.one(client, target); err != nil {
			return err
		}
	}
	return nil
}

func (c *fetcher) one(client *http.Client, target string) error {
	req, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	req.Header = c.header
	asWritten(req.URL, target)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if c.head {
		printHead(resp)
	}
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return err
	}
	if !c.head && resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s", resp.Status, resp.Header.Get("Proxy-Status"))
	}
	return nil
}

// asWritten has the path sent as it stands in target, octet for octet.
func asWritten(u *url.URL, target string) {
	_, rest, _ := strings.Cut(target, "://")
	rest, _, _ = strings.Cut(rest, "?")
	i := strings.IndexByte(rest, '/')
	switch {
	case i < 0, strings.HasPrefix(rest[i:], "//"): // that would be read as a host
	case u.Scheme == "http":
		u.Opaque = "//" + rest // what a proxy is asked for
	default:
		u.Opaque = rest[i:]
	}
}

func printHead(resp *http.Response) {
	fmt.Printf("%s %s\r\n", resp.Proto, resp.Status)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			fmt.Printf("%s: %s\r\n", name, value)
		}
	}
	fmt.Print("\r\n")
}
