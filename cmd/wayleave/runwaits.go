package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
)

const (
	waitsEvery     = time.Second // how often the line of waits is written
	waitsOnOneLine = 3           // hosts that it names
)

// A waitsFunc returns which hosts an edge's requests wait for now.
type waitsFunc func(ctx context.Context) ([]backoff.HostWait, error)

// waitingHosts is a waitsFunc for an edge of this process.
func (e *edge) waitingHosts(context.Context) ([]backoff.HostWait, error) {
	return e.pacing.Dispatcher.Waiting(), nil
}

// waitingAt is a waitsFunc for an edge that somebody else runs. It tells of the
// other sessions' requests too.
func waitingAt(found ready) waitsFunc {
	return func(ctx context.Context) (waits []backoff.HostWait, err error) {
		ctx, cancel := context.WithTimeout(ctx, waitsEvery)
		defer cancel()
		resp, err := askEdge(ctx, found, http.MethodGet, "/v1/hosts?waiting=true", nil)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var page struct{ Items []admin.HostItem }
		if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&page); err != nil || resp.StatusCode != http.StatusOK {
			return nil, errors.New("the edge does not tell what it waits for: " + resp.Status)
		}
		for _, h := range page.Items {
			if w := h.Pacing.Waiting; w != nil {
				waits = append(waits, backoff.HostWait{Host: h.Host, Count: w.Count, Until: w.Until, Cause: backoff.Reason(w.Cause)})
			}
		}
		return waits, nil
	}
}

// showWaits shows what requests wait for in one line of the terminal that stderr
// is, until the function that it returns is called, which removes the line. Where
// stderr is no terminal nothing is written (A19).
func (c *cli) showWaits(waits waitsFunc) (end func()) {
	line, ok := c.terminalLine()
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var showing sync.WaitGroup
	showing.Go(func() { line.follow(ctx, waits) })
	return func() {
		cancel()
		showing.Wait()
	}
}

// A terminalLine is a line at the cursor that can be rewritten and removed.
type terminalLine struct {
	to    io.Writer
	width func() int // columns of the terminal; 0: not known
	shown bool
}

// terminalLine returns the line of stderr if that is a terminal that can erase.
func (c *cli) terminalLine() (*terminalLine, bool) {
	f, ok := c.stderr.(*os.File)
	if !ok || c.getenv("TERM") == "dumb" {
		return nil, false
	}
	fd := int(f.Fd())
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err != nil {
		return nil, false // only a terminal has a size
	}
	return &terminalLine{to: f, width: func() int {
		size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err != nil {
			return 0
		}
		return int(size.Col)
	}}, true
}

// follow writes the line anew every second while there is something to tell, and
// removes it when ctx ends. What cannot be learnt is not told.
func (l *terminalLine) follow(ctx context.Context, waits waitsFunc) {
	defer l.write("")
	tick := time.NewTicker(waitsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now, err := waits(ctx)
			if err != nil {
				now = nil
			}
			l.write(waitsInWords(now))
		}
	}
}

// eraseLine is the control sequence that goes to the first column and erases what
// stands behind (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

// write puts text in place of the line; nothing removes it. A line that the
// terminal would break could not be erased, so it is cut.
func (l *terminalLine) write(text string) {
	if text == "" && !l.shown {
		return
	}
	if most := l.width() - 1; most > 0 && len(text) > most {
		text = text[:most]
	}
	l.shown = text != ""
	_, _ = io.WriteString(l.to, eraseLine+text) // a terminal that is gone shows nothing
}

// waitsInWords tells for which hosts requests wait, why and until when, in ASCII;
// nothing when none does.
func waitsInWords(waits []backoff.HostWait) string {
	if len(waits) == 0 {
		return ""
	}
	parts := make([]string, 0, waitsOnOneLine+1)
	for _, w := range waits[:min(len(waits), waitsOnOneLine)] {
		parts = append(parts, waitInWords(w))
	}
	if more := len(waits) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "wayleave: waiting for " + strings.Join(parts, ", ")
}

func waitInWords(w backoff.HostWait) string {
	about := "its Crawl-delay"
	if w.Cause == backoff.ReasonBackoff {
		about = "it failed"
	}
	if w.Count > 1 {
		about += fmt.Sprintf("; %d requests", w.Count)
	}
	if w.Until.IsZero() {
		return fmt.Sprintf("%s (%s)", w.Host, about)
	}
	return fmt.Sprintf("%s until %s (%s)", w.Host, w.Until.Local().Format(time.TimeOnly), about)
}
