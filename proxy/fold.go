package proxy

import (
	"net"
	"sync"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// maxFolded bounds how many sessions and addresses are kept apart; beyond it all
// share one record a second for each reason.
const maxFolded = 4096

// foldWindow is the time in which refusals alike share one record.
const foldWindow = time.Second

// A folder puts a session's refusals of the same kind from the same address into
// one record per second. The first of them is recorded by itself, at once.
type folder struct {
	edge *Edge

	// mu guards open. An entry is removed by the timer that writes it.
	mu   sync.Mutex
	open map[foldKey]*foldEntry
}

type foldKey struct {
	session string
	address string
	reason  rulings.Reason
}

type foldEntry struct {
	last  *crossing // the latest of those folded; nil when there was none
	count int
	timer *time.Timer
}

// fold reports whether x was taken into a record that is written later. Only
// what was turned away before it could be ruled is: a refusal by policy is a
// decision on one host or page, and has its record.
func (f *folder) fold(x *crossing) bool {
	if !x.rec.Refusal.Reason.TurnsAway() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := foldKey{x.log.ID(), hostOf(x.rec.Client.Address), x.rec.Refusal.Reason}
	if _, ok := f.open[key]; !ok && len(f.open) >= maxFolded {
		key.session, key.address = "", ""
	}
	if e, ok := f.open[key]; ok {
		// Of x, which its own goroutine goes on to answer, the record alone.
		e.last = &crossing{agent: x.agent, edge: x.edge, rec: x.rec}
		e.count++
		return true
	}
	if f.open == nil {
		f.open = make(map[foldKey]*foldEntry)
	}
	e := &foldEntry{}
	e.timer = time.AfterFunc(foldWindow, func() { f.close(key) })
	f.open[key] = e
	return false
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// close writes what was folded under key and ends its second.
func (f *folder) close(key foldKey) {
	f.mu.Lock()
	e := f.open[key]
	delete(f.open, key)
	f.mu.Unlock()
	if e == nil || e.last == nil {
		return
	}
	if e.count > 1 {
		e.last.rec.Repeated = e.count
	}
	e.last.end(evidence.Refused)
}

// flush writes everything that is still folded.
func (f *folder) flush() {
	f.mu.Lock()
	keys := make([]foldKey, 0, len(f.open))
	for k, e := range f.open {
		e.timer.Stop()
		keys = append(keys, k)
	}
	f.mu.Unlock()
	for _, k := range keys {
		f.close(k)
	}
}
