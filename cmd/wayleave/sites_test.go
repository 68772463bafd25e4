package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
)

// sitesMain is a small web for scripts, spelt as files:
//
//	sites FOLDER
//
// Each folder FOLDER/sites/NAME is a site over HTTPS and over HTTP, on a loopback
// address of its own. The file NAME/PATH is served as it stands; NAME/_ is what
// comes for every other path, and without it a line of text, but 404 for
// robots.txt and below .well-known. NAME/PATH.head says how: a status, such as
// "403", and lines of fields; "hang" sends nothing until the client leaves, and
// "endless" sends the file again and again until then.
//
// Written are FOLDER/ca.pem, FOLDER/wayleave.yaml, under which an edge reaches
// the sites, FOLDER/asked/NAME with a line for each request as it came,
// FOLDER/arrived/NAME with the same behind the nanoseconds since the start, and,
// when all of it is there, FOLDER/sites.env with NAME=https://...,
// NAME_http=http://... NAME_host and PORTS.
func sitesMain() {
	if err := runSites(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sites:", err)
		os.Exit(1)
	}
}

func runSites(dir string) error {
	folders, err := filepath.Glob(dir + "/sites/*")
	if err != nil || len(folders) == 0 {
		return fmt.Errorf("no sites in %s: %w", dir, err)
	}
	w := &web{dir: dir, began: time.Now()}
	if w.ca, err = newDemoCA(time.Now()); err != nil {
		return err
	}
	for _, notes := range []string{"/asked", "/arrived"} {
		if err := os.MkdirAll(dir+notes, 0o755); err != nil {
			return err
		}
	}
	for i, folder := range folders {
		if err := w.start(filepath.Base(folder), byte(i+1)); err != nil {
			return err
		}
	}
	if err := w.write(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	<-ctx.Done()
	for _, s := range w.servers {
		s.Close()
	}
	w.loops.Wait()
	return nil
}

// A web is the sites of a script, running.
type web struct {
	dir     string
	ca      *demoCA
	began   time.Time
	env     strings.Builder // lines of sites.env
	ports   []string
	servers []*http.Server
	loops   sync.WaitGroup
}

func (w *web) start(name string, n byte) error {
	asked, err := os.Create(w.dir + "/asked/" + name)
	if err != nil {
		return err
	}
	arrived, err := os.Create(w.dir + "/arrived/" + name)
	if err != nil {
		return err
	}
	s := &folderSite{dir: w.dir + "/sites/" + name, began: w.began, asked: asked, arrived: arrived}
	secure, err := sitesListen(n)
	if err != nil {
		return err
	}
	ip := secure.Addr().(*net.TCPAddr).IP
	plain, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return err
	}
	leaf, err := w.ca.leaf(ip, time.Now())
	if err != nil {
		return err
	}
	quiet := log.New(io.Discard, "", 0)
	overTLS := &http.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{leaf}}, ErrorLog: quiet}
	overTCP := &http.Server{Handler: s, ErrorLog: quiet}
	w.servers = append(w.servers, overTLS, overTCP)
	w.loops.Go(func() { _ = overTLS.ServeTLS(secure, "", "") }) // end when Close closes them
	w.loops.Go(func() { _ = overTCP.Serve(plain) })
	w.ports = append(w.ports, strconv.Itoa(secure.Addr().(*net.TCPAddr).Port))
	fmt.Fprintf(&w.env, "%[1]s=https://%[2]s\n%[1]s_http=http://%[3]s\n%[1]s_host=%[4]s\n", name, secure.Addr(), plain.Addr(), ip)
	return nil
}

// sitesListen listens on 127.77.1.n, or on 127.0.0.1 where that is all there is.
func sitesListen(n byte) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.77.1.%d:0", n))
	if err != nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return l, nil
}

func (w *web) write() error {
	ports := strings.Join(w.ports, ", ")
	config := fmt.Sprintf("connect_ports: [%s]\nupstream: {ca_file: ca.pem}\npolicy:\n  allow_private: [127.0.0.0/8]\n", ports)
	for _, f := range []struct{ name, text string }{
		{"ca.pem", string(w.ca.pem)}, {"wayleave.yaml", config}, {"sites.env", w.env.String() + "PORTS=" + ports + "\n"},
	} {
		if err := durable.WriteFile(w.dir+"/"+f.name, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A folderSite is one site of a web.
type folderSite struct {
	dir   string
	began time.Time

	mu             sync.Mutex // orders the lines of both
	asked, arrived *os.File
}

func (s *folderSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fmt.Fprintln(s.asked, r.Method, r.RequestURI)
	fmt.Fprintln(s.arrived, time.Since(s.began).Nanoseconds(), r.Method, r.RequestURI)
	s.mu.Unlock()
	file := s.file(r.URL.Path)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	status := http.StatusOK
	head, err := os.ReadFile(file + ".head")
	if err == nil {
		status = setHead(w.Header(), string(head))
	}
	if string(head) == "hang\n" {
		<-r.Context().Done()
		return
	}
	body, err := os.ReadFile(file)
	switch {
	case err == nil, status != http.StatusOK:
	case r.URL.Path == "/robots.txt", strings.HasPrefix(r.URL.Path, "/.well-known/"):
		http.NotFound(w, r)
		return
	default:
		body = fmt.Appendf(nil, "the page %s\n", r.URL.Path)
	}
	w.WriteHeader(status)
	for _, err = w.Write(body); err == nil && string(head) == "endless\n"; {
		_, err = w.Write(body)
	}
}

// file is where the site keeps what it serves under p, or under every other path.
func (s *folderSite) file(p string) string {
	own := filepath.Join(s.dir, filepath.FromSlash(path.Clean("/"+p)))
	for _, name := range []string{own, own + ".head"} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return own
		}
	}
	if p == "/robots.txt" || strings.HasPrefix(p, "/.well-known/") {
		return own
	}
	return filepath.Join(s.dir, "_")
}

// setHead sets the fields that the lines of a .head file name, in their order,
// and returns the status that it says, 200 when it says none.
func setHead(h http.Header, head string) int {
	status := http.StatusOK
	for line := range strings.Lines(head) {
		name, value, field := strings.Cut(strings.TrimRight(line, "\n"), ":")
		switch code, err := strconv.Atoi(name); {
		case field && strings.EqualFold(name, "Content-Type"):
			h.Set(name, strings.TrimSpace(value))
		case field:
			h.Add(name, strings.TrimSpace(value))
		case err == nil:
			status = code
		}
	}
	return status
}
