//go:build clients

package clients

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
)

const (
	pageText     = "<!doctype html><title>A page</title><p>Words of the site: grüß Gott.\n"
	robotsText   = "User-agent: *\nDisallow: /private/\n"
	downloadSize = 8 << 20
	eventCount   = 6
)

// downloadBytes are the same in every run and compress to nothing less.
var downloadBytes = sync.OnceValue(func() []byte { return noise(downloadSize, "download") })

// noise returns n bytes that depend on the seed alone.
func noise(n int, seed string) []byte {
	var key [32]byte
	copy(key[:], seed)
	out := make([]byte, n)
	if _, err := rand.NewChaCha8(key).Read(out); err != nil {
		panic(err) // documented never to happen
	}
	return out
}

// A site is what the matrix asks for: a page, a place its robots.txt disallows,
// a large file, and streams that wait for their reader.
type site struct {
	mux *http.ServeMux

	mu      sync.Mutex
	streams map[string]chan struct{} // one value says that the last event was seen
}

func newSite() *site {
	s := &site{mux: http.NewServeMux(), streams: map[string]chan struct{}{}}
	s.mux.HandleFunc("GET /robots.txt", text("text/plain", robotsText))
	s.mux.HandleFunc("GET /page", text("text/html; charset=utf-8", pageText))
	s.mux.HandleFunc("GET /private/page", text("text/html", "disallowed"))
	s.mux.HandleFunc("GET /download", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(downloadSize))
		w.Write(downloadBytes()) // the client's checksum shows what came of it
	})
	s.mux.HandleFunc("GET /stream/{form}/{id}", s.stream)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func text(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		fmt.Fprint(w, body)
	}
}

// forms are the kinds of stream: server-sent events, which proxies know, and
// lines of JSON, which look like any other body of unknown length.
var forms = map[string]struct{ mediaType, event string }{
	"events": {"text/event-stream", "data: event %d\n\n"},
	"lines":  {"application/x-ndjson", "{\"data\": \"event %d\"}\n"},
}

// eventLine is the line by which a reader knows event i.
func eventLine(form string, i int) string {
	if form == "events" {
		return fmt.Sprintf("data: event %d", i)
	}
	return fmt.Sprintf(`{"data": "event %d"}`, i)
}

// newStream announces a stream and returns what to call for each event that the
// client was seen to have. The next event is sent only then, so a stream that
// somebody holds back never ends.
func (s *site) newStream(id string) (seen func()) {
	c := make(chan struct{}, eventCount)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[id] = c
	return func() { c <- struct{}{} }
}

func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	form, known := forms[r.PathValue("form")]
	s.mu.Lock()
	seen := s.streams[r.PathValue("id")]
	s.mu.Unlock()
	if !known || seen == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", form.mediaType)
	for i := range eventCount {
		fmt.Fprintf(w, form.event, i)
		w.(http.Flusher).Flush()
		select {
		case <-seen:
		case <-r.Context().Done():
			return
		}
	}
}
