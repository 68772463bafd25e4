//go:build clients

package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// uploadSize is more than any buffer on the way.
const uploadSize = 20 << 20

// uploads answers /whole with the checksum of what came, and /early with 401
// before it has read anything.
func uploads() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /whole", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		if _, err := io.Copy(sum, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, hex.EncodeToString(sum.Sum(nil)))
	})
	mux.HandleFunc("PUT /early", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="uploads"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	return mux
}

func TestN14C11AChunkedUploadStreamsAndItsRefusalIsSeen(t *testing.T) {
	a := newAuthority(t)
	o := startOrigin(t, &a, "localhost", "127.0.0.1", uploads())
	e := startEdge(t, a)
	payload := noise(uploadSize, "upload")
	sum := sha256.Sum256(payload)
	for _, c := range httpClients(t)[:2] { // curl, by both versions
		t.Run(c.name, func(t *testing.T) {
			whole := upload(t, e, c, o.url+"/whole", payload)
			whole.expect(t, "200", c.proto)
			if got, want := string(whole.body), hex.EncodeToString(sum[:]); got != want {
				t.Errorf("the origin got bytes with the checksum %s, want %s", got, want)
			}
			for _, a := range o.at("/whole") {
				if a.length != -1 {
					t.Errorf("the upload arrived with the length %d, so it was held back", a.length)
				}
			}
			early := upload(t, e, c, o.url+"/early", payload)
			early.expect(t, "401", c.proto)
			if !strings.Contains(string(early.body), "who are you?") {
				t.Errorf("the origin's refusal reads %q", early.body)
			}
		})
	}
}

// upload has curl PUT what it reads from a pipe, whose length it cannot know.
// An origin that answers early may close the connection before curl has sent
// everything, which makes curl fail with the answer in its hands.
func upload(t *testing.T, e *edge, c client, url string, payload []byte) answer {
	t.Helper()
	argv := append(append([]string{}, c.argv...), "--upload-file", "-", url)
	out, log := &transcript{}, &transcript{}
	cmd := command(t, pairs(e.env(t, sessionName(t))), argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(payload), out, log
	err := cmd.Run()
	got := parseAnswer(log.String(), out.bytes())
	if got.status == "" {
		t.Fatalf("curl had no answer: %v\n%s", err, log)
	}
	return got
}
