package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Killed with SIGKILL while it learns the terms of one site after another, an
// edge leaves no record that names an object which is not there, or not whole (E5).
func TestE5KilledBetweenObjectAndRecordNoRecordNamesAMissingObject(t *testing.T) {
	for answers := 1; answers <= 13; answers += 4 { // after which the kill comes
		t.Run(fmt.Sprint("after ", answers), func(t *testing.T) { killWhileLearning(t, answers) })
	}
}

func killWhileLearning(t *testing.T, answers int) {
	data := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEdgeChild$")
	cmd.Env = append(os.Environ(), edgeChild+"="+data)
	proxy := http.ProxyURL(&url.URL{Scheme: "http", Host: startChild(t, cmd), User: url.UserPassword("learns", "x")})

	answered := make(chan error, 64)
	var wg sync.WaitGroup
	for n := range cap(answered) {
		o := startOrigin(t, fmt.Sprintf("User-agent: *\nDisallow: /%d\n%s", n, strings.Repeat("# filler\n", 100*n)), true,
			func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
		wg.Go(func() {
			c := &http.Client{Transport: &http.Transport{Proxy: proxy}}
			defer c.CloseIdleConnections()
			resp, err := c.Get(o.URL + "/")
			if err == nil {
				resp.Body.Close()
			}
			answered <- err
		})
	}
	for range answers {
		must(t, <-answered)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	wg.Wait()

	named := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(data, "sessions", "*", "*.jsonl"))
	must(t, err)
	for _, name := range files {
		log, err := os.ReadFile(name)
		must(t, err)
		for _, m := range regexp.MustCompile(`"object":"sha256:([0-9a-f]{64})"`).FindAllStringSubmatch(string(log), -1) {
			named[m[1]] = true
		}
	}
	if len(named) == 0 {
		t.Error("no record names an object")
	}
	for name := range named {
		object, err := os.ReadFile(filepath.Join(data, "terms", "objects", name))
		must(t, err)
		if sum := sha256.Sum256(object); hex.EncodeToString(sum[:]) != name {
			t.Errorf("object %s holds other octets", name)
		}
	}
}
