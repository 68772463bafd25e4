package evidence

import "time"

// watchSteps is in how many steps append_wait is measured. A timer for each
// append would be exact, and cost a lone append a tenth of its time: arming the
// earliest timer of a process wakes a thread.
const watchSteps = 20

// watch sees to it that somebody looks at what waits, at the latest in one step.
// l.mu is held.
func (l *Log) watch() {
	if l.watching {
		return
	}
	l.watching = true
	step := l.store.o.AppendWait / watchSteps
	if l.watchdog == nil {
		l.watchdog = time.AfterFunc(step, l.look)
	} else {
		l.watchdog.Reset(step)
	}
}

// look lets go those callers who would wait longer than append_wait before it
// looks again (E29). Their records stay where they are and may yet reach the
// disk.
func (l *Log) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = false
	wait := l.store.o.AppendWait
	expired := time.Now().Add(wait/watchSteps - wait)
	for _, list := range [][]*entry{l.inFlight, l.queue} {
		for _, e := range list {
			if !e.ended && !e.abandoned && !e.since.After(expired) {
				e.ended, e.late = true, true
				l.given += len(e.records)
				for _, r := range e.records {
					if r.opens {
						l.open++
					}
				}
				e.done <- ending{late: true}
			}
		}
	}
	if l.writing {
		l.watch()
	}
}
