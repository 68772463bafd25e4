package proxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadPage answers with a body whose size depends on the request, so that short
// and long bodies of known and unknown length all occur.
func loadPage(w http.ResponseWriter, r *http.Request) {
	switch n := len(r.URL.Query().Get("id")) % 3; n {
	case 0:
		io.WriteString(w, strings.Repeat("short ", 100))
	case 1:
		w.(http.Flusher).Flush() // unknown length
		io.WriteString(w, "streamed")
	default:
		w.Header().Set("Content-Length", fmt.Sprint(100_000))
		w.Write(make([]byte, 100_000))
	}
}

// Ten thousand requests over 64 connections, HTTP/1.1 and HTTP/2, plain and
// intercepted: none fails, each is in the log exactly once, and memory does not
// grow with their number.
func TestLoadEveryRequestIsInTheLogExactlyOnce(t *testing.T) {
	const total, connections = 10_000, 64
	e := startEdge(t, edgeSetup{})
	origins := []*origin{startOrigin(t, "", true, loadPage), startOrigin(t, "", false, loadPage)}

	var next atomic.Int64
	var failed atomic.Int64
	worker := func(n int, until int64) {
		c := e.client(fmt.Sprintf("load-%d", n%4), n%4 == 3)
		base := origins[min(n%4, 1)].URL // one in four plain
		for {
			id := next.Add(1)
			if id > until {
				return
			}
			resp, err := c.Get(fmt.Sprintf("%s/page?id=%s-%d", base, strings.Repeat("x", int(id%5)), id))
			if err != nil {
				failed.Add(1)
				t.Errorf("request %d: %v", id, err)
				continue
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				failed.Add(1)
				t.Errorf("request %d: %s, %v", id, resp.Status, err)
			}
			resp.Body.Close()
		}
	}
	run := func(until int64) {
		var wg sync.WaitGroup
		for n := range connections {
			wg.Go(func() { worker(n, until) })
		}
		wg.Wait()
		next.Store(until)
	}
	run(total / 2)
	half := heapInUse()
	run(total)
	if failed.Load() > 0 {
		t.Fatalf("%d of %d requests failed", failed.Load(), total)
	}
	if grown := heapInUse() - half; grown > 64<<20 {
		t.Errorf("the second half of the load grew the heap by %d bytes", grown)
	}
	seen := make(map[string]int)
	for _, r := range e.waitCrossings(total) {
		r.want(t, map[string]any{"outcome": "delivered", "delivered.complete": true})
		u, err := url.Parse(r.at("url").(string))
		must(t, err)
		seen[u.Query().Get("id")]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("request %s is in the log %d times", id, n)
		}
	}
	if len(seen) != total {
		t.Errorf("%d different requests are in the log, want %d", len(seen), total)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// edgeChild makes the test binary serve an edge on a data directory instead of
// running tests, so that it can be killed; edgeChildCA names the file of the CA
// that origins have their certificates from.
const (
	edgeChild   = "WAYLEAVE_TEST_EDGE_CHILD"
	edgeChildCA = "WAYLEAVE_TEST_EDGE_CHILD_CA"
)

// startChild starts an edge in a process of its own, which ends with the test,
// and returns where it listens.
func startChild(t *testing.T, cmd *exec.Cmd) (addr string) {
	t.Helper()
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // its end is the child's
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}

// Killed with SIGKILL under load, the edge leaves every crossing a client saw
// whole in its log (E49).
func TestE49KilledUnderLoadEveryWholeAnswerIsInTheLog(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint("kill ", round), func(t *testing.T) { killUnderLoad(t, time.Duration(100+150*round)*time.Millisecond) })
	}
}

func killUnderLoad(t *testing.T, after time.Duration) {
	o := startOrigin(t, "", true, loadPage)
	data := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEdgeChild$")
	cmd.Env = append(os.Environ(), edgeChild+"="+data)
	proxy := &url.URL{Scheme: "http", Host: startChild(t, cmd), User: url.UserPassword("killed", "x")}

	var mu sync.Mutex
	whole := make(map[string]bool)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
			defer c.CloseIdleConnections()
			for {
				id := fmt.Sprintf("%s-%d", strings.Repeat("x", int(next.Load()%5)), next.Add(1))
				resp, err := c.Get(o.URL + "/page?id=" + id)
				if err != nil {
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil {
					return
				}
				mu.Lock()
				whole[id] = true
				mu.Unlock()
			}
		})
	}
	for { // under load means that answers are coming
		mu.Lock()
		n := len(whole)
		mu.Unlock()
		if n > 50 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(after)
	must(t, cmd.Process.Kill())
	cmd.Wait()
	wg.Wait()

	logged := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(data, "sessions", "killed", "*.jsonl"))
	must(t, err)
	for _, name := range files {
		log, err := os.ReadFile(name)
		must(t, err)
		for line := range bytes.Lines(log) {
			var r record
			if json.Unmarshal(line, &r) != nil {
				continue // the line that was being written
			}
			if r.Event == "crossing_mediated" {
				u, err := url.Parse(r.at("url").(string))
				must(t, err)
				logged[u.Query().Get("id")] = true
			}
		}
	}
	for id := range whole {
		if !logged[id] {
			t.Errorf("a client has the whole of %s, the log has not", id)
		}
	}
	t.Logf("%d whole answers, %d in the log", len(whole), len(logged))
}

// TestEdgeChild is the process that tests kill. In a run of the tests
// it starts the same edge and stops it cleanly.
func TestEdgeChild(t *testing.T) {
	data := os.Getenv(edgeChild)
	if data == "" {
		e := startEdge(t, edgeSetup{})
		e.down()
		return
	}
	e := startEdge(t, edgeSetup{data: data, upstream: func(o *UpstreamOptions) {
		if ca := os.Getenv(edgeChildCA); ca != "" {
			o.CAFile = ca
		}
	}})
	fmt.Println(e.addr)
	io.Copy(io.Discard, os.Stdin) // until the parent is gone
}
