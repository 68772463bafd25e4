package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
)

// siteMain is a site with a robots.txt, for scripts:
//
//	site FOLDER
//
// It listens on loopback, writes FOLDER/ca.pem, a FOLDER/wayleave.yaml under
// which an edge reaches it, FOLDER/site.env with SITE=<origin>, and one line for
// each request into FOLDER/asked. /hold answers once FOLDER/release is there.
func siteMain() {
	if err := runSite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func runSite(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ca, err := newDemoCA(time.Now())
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	leaf, err := ca.leaf(net.IPv4(127, 0, 0, 1), time.Now())
	if err != nil {
		return err
	}
	if err := writeSite(dir, ca, l.Addr().(*net.TCPAddr)); err != nil {
		return err
	}
	s := &http.Server{Handler: &site{dir: dir}, TLSConfig: &tls.Config{Certificates: []tls.Certificate{leaf}}}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, func() { s.Close() })
	if err := s.ServeTLS(l, "", ""); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func writeSite(dir string, ca *demoCA, addr *net.TCPAddr) error {
	config := fmt.Sprintf("connect_ports: [%d]\nupstream: {ca_file: ca.pem}\npolicy:\n  allow_private: [127.0.0.0/8]\n", addr.Port)
	for _, f := range []struct{ name, text string }{
		{"ca.pem", string(ca.pem)}, {"wayleave.yaml", config}, {"asked", ""}, {"site.env", "SITE=https://" + addr.String() + "\n"},
	} {
		if err := durable.WriteFile(dir+"/"+f.name, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A site serves a page under every path and notes who asked for what.
type site struct {
	dir string
	mu  sync.Mutex // orders the lines of asked
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.note(r.Method + " " + r.URL.Path)
	switch r.URL.Path {
	case "/robots.txt":
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	case "/hold":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		s.note("holding")
		for r.Context().Err() == nil {
			if _, err := os.Stat(s.dir + "/release"); err == nil {
				fmt.Fprint(w, "held until released\n")
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "/twice":
		// A second answer stands behind the first one before anybody asked for it.
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfirst\n")
		time.Sleep(50 * time.Millisecond) // until the connection is idle
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nSet-Cookie: sid=hunter2\r\nContent-Length: 7\r\n\r\nhunter2")
	default:
		fmt.Fprintf(w, "the page %s\n", r.URL.Path)
	}
}

func (s *site) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.dir+"/asked", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// dieMain ends itself by a signal (die TERM), exits with a code (die 7), or
// waits for the signal it then names (die wait): what run has to pass on.
func dieMain() {
	how := os.Args[1]
	if s, ok := signalNames[strings.ToUpper(how)]; ok {
		_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
		select {}
	}
	if how == "wait" {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
		if err := os.WriteFile("waiting", nil, 0o600); err != nil {
			os.Exit(99)
		}
		fmt.Println("got", <-signals)
		os.Exit(5)
	}
	code := 0
	fmt.Sscan(how, &code)
	os.Exit(code)
}
