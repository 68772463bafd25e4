//go:build clients

package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// browse starts a headless Chromium as N24 says and returns the context of its
// one page. It goes through the edge by flags, and trusts the edge's CA by the
// certificate store in its HOME.
func browse(t *testing.T, e *edge) context.Context {
	t.Helper()
	home := t.TempDir()
	store := "sql:" + filepath.Join(home, ".pki", "nssdb")
	certutil := program(t, "certutil", "libnss3-tools")
	if err := os.MkdirAll(filepath.Join(home, ".pki", "nssdb"), 0o700); err != nil {
		t.Fatal(err)
	}
	output(t, nil, certutil, "-d", store, "-N", "--empty-password")
	output(t, nil, certutil, "-d", store, "-A", "-t", "C,,", "-n", "wayleave", "-i", e.caFile)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program(t, "chromium", "chromium")),
		chromedp.NoInheritEnv, chromedp.Env("HOME="+home, "PATH="+os.Getenv("PATH")),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.ProxyServer("http://" + e.proxy),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
	}
	// Its context is not the test's, which ends before the browser is closed.
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewExecAllocator(ctx, options...) // Cancel below ends both
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return ctx
}

// in runs one action in the browser and returns what it found.
func in[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	found, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const paintedPage = `<!doctype html>
<title>A painted page</title>
<link rel="stylesheet" href="/painted/style.css">
<h1 id="heading">Words</h1>
<img id="dot" src="/painted/dot.svg">
<p id="fetched"></p>
<p id="posted"></p>
<script src="/painted/script.js"></script>
`

// paint adds to the site a page that needs everything a browser fetches.
func (s *site) paint() {
	s.mux.HandleFunc("GET /painted/page", text("text/html; charset=utf-8", paintedPage))
	s.mux.HandleFunc("GET /painted/style.css", text("text/css", "#heading { color: rgb(1, 2, 3); }\n"))
	s.mux.HandleFunc("GET /painted/dot.svg", text("image/svg+xml",
		`<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><circle cx="3" cy="3" r="3"/></svg>`))
	s.mux.HandleFunc("GET /painted/script.js", text("text/javascript", `
const put = (id) => (text) => { document.getElementById(id).textContent = text; };
fetch("/painted/data.json").then((r) => r.json()).then((data) => put("fetched")(data.words));
fetch("/painted/echo", {method: "POST", body: "sent"}).then((r) => r.text()).then(put("posted"));
`))
	s.mux.HandleFunc("GET /painted/data.json", text("application/json", `{"words": "fetched words"}`))
	s.mux.HandleFunc("POST /painted/echo", func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 16)
		n, _ := r.Body.Read(body) // a short body comes at once or is seen to be missing
		fmt.Fprintf(w, "the origin got %s", body[:n])
	})
}

func TestN5ChromiumBrowsesAsItsFlagsSetItUp(t *testing.T) {
	b := newBench(t, "open")
	b.site.paint()
	ctx := browse(t, b.edge)
	t.Run("shows a page with all that belongs to it", func(t *testing.T) { b.painted(t, ctx) })
	t.Run("shows why it was refused in words", func(t *testing.T) { b.refusalShown(t, ctx) })
	t.Run("gets a large file whole", func(t *testing.T) { b.fetched(t, ctx) })
	t.Run("has each event of a stream before the next is sent", func(t *testing.T) { b.eventSource(t, ctx) })
}

func (b bench) painted(t *testing.T, ctx context.Context) {
	in(t, ctx, chromedp.Navigate(b.secure.url+"/painted/page"))
	in(t, ctx, chromedp.Poll[chromedp.Void](`document.getElementById("fetched").textContent && document.getElementById("posted").textContent`))
	for script, want := range map[string]string{
		`document.title`: "A painted page",
		`getComputedStyle(document.getElementById("heading")).color`: "rgb(1, 2, 3)",
		`String(document.getElementById("dot").naturalWidth)`:        "7",
		`document.getElementById("fetched").textContent`:             "fetched words",
		`document.getElementById("posted").textContent`:              "the origin got sent",
	} {
		if got := in(t, ctx, chromedp.Evaluate[string](script)); got != want {
			t.Errorf("%s is %q, want %q", script, got, want)
		}
	}
	for _, path := range []string{"page", "style.css", "dot.svg", "script.js", "data.json", "echo"} {
		if n := len(b.secure.at("/painted/" + path)); n != 1 {
			t.Errorf("%s was asked for %d times, want once (N16)", path, n)
		}
	}
}

func (b bench) refusalShown(t *testing.T, ctx context.Context) {
	const words = "The site's robots.txt does not allow this path"
	resp := in(t, ctx, chromedp.NavigateResponse(b.secure.url+"/private/page"))
	if resp.Status != http.StatusForbidden || resp.MimeType != "text/html" {
		t.Errorf("the refusal is %d with %s, want 403 with text/html for who prefers it", resp.Status, resp.MimeType)
	}
	if title := in(t, ctx, chromedp.Title()); !strings.Contains(title, words) {
		t.Errorf("the title is %q, want %q in it", title, words)
	}
	shown := in(t, ctx, chromedp.Evaluate[string](`document.body.innerText`))
	for _, want := range []string{words, "robots_disallow", "source"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page does not show %q:\n%s", want, shown)
		}
	}
	if n := len(b.secure.at("/private/page")); n > 0 {
		t.Errorf("the disallowed page reached the origin %d times", n)
	}
}

// fetched computes the checksum in the page, which takes in the body as any
// script does.
func (b bench) fetched(t *testing.T, ctx context.Context) {
	in(t, ctx, chromedp.Navigate(b.secure.url+"/page"))
	sum := in(t, ctx, chromedp.Evaluate[string](`fetch("/download").then((r) => r.arrayBuffer()).
		then((body) => crypto.subtle.digest("SHA-256", body)).
		then((sum) => Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, "0")).join(""))`, chromedp.EvalAwaitPromise))
	if want := sha256.Sum256(downloadBytes()); sum != hex.EncodeToString(want[:]) {
		t.Errorf("the checksum in the page is %s, want %x", sum, want)
	}
}

// eventSource lets the origin go on only when the page has had what came so far.
func (b bench) eventSource(t *testing.T, ctx context.Context) {
	id := sessionName(t)
	seen := b.site.newStream(id)
	in(t, ctx, chromedp.Navigate(b.secure.url+"/page"))
	in(t, ctx, chromedp.Evaluate[chromedp.Void](`
		window.had = [];
		window.source = new EventSource("/stream/events/`+id+`");
		source.onmessage = (event) => { had.push(event.data); };
		source.onerror = () => { source.close(); };`))
	for i := range eventCount {
		had := in(t, ctx, chromedp.Poll[[]string](fmt.Sprintf(`had.length > %d || source.readyState == EventSource.CLOSED ? had : null`, i)))
		if len(had) != i+1 || had[i] != fmt.Sprintf("event %d", i) {
			t.Fatalf("the page had %q, want event %d as the last", had, i)
		}
		seen()
	}
	in(t, ctx, chromedp.Poll[chromedp.Void](`source.readyState == EventSource.CLOSED`))
}
