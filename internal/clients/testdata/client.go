// Client is an HTTP client in Go: client set|environment URL
//
// The answer's status line and fields go to standard error, its body to standard
// output piece by piece as it arrives. With set, the proxy is named to the
// transport; with environment, the transport looks for it as the default one
// does, which leaves loopback targets out.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

func main() {
	if err := get(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(how, target string) error {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if how == "set" {
		proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
		if err != nil {
			return err
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	resp, err := (&http.Client{Transport: transport}).Get(target)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Fprintf(os.Stderr, "%s %d\n", resp.Proto, resp.StatusCode)
	if err := resp.Header.Write(os.Stderr); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
