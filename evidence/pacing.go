package evidence

import "time"

// Pacing is what the pace of a host did to a request (E18). Turn and back-off are
// separate rulings. The zero value is that it did nothing.
type Pacing struct {
	Delay   *PacedDelay
	Backoff []PacedBackoff

	// DateHeader is the origin's Date, as sent, of an answer that set a back-off by
	// date. The record has it beside the status and not in the member pacing.
	DateHeader string
}

// PacedDelay is what came of asking for a turn under Crawl-delay.
type PacedDelay struct {
	Delay        time.Duration // as kept
	Outcome      string        // clear, waited, refused or unavailable
	Wait, Budget time.Duration
	NextAt       time.Time
	Recovered    string
	LicenceFirst bool
	Unavailable  string // the fault of the store and what repairs it
}

// PacedBackoff is one thing that a host's back-off did, or that was done to it.
type PacedBackoff struct {
	Target           string
	Outcome          string // set, reset, waited, refused or unavailable
	Failures, Status int
	Until            time.Time
	RetryAfter       bool
	Capped           bool
	Date             bool // the host stated Until itself, as a date
	ReservedUntil    time.Time
	Wait, Budget     time.Duration
	Unavailable      string
}

func (p *Pacing) write(e *encoder) {
	if p.Delay == nil && len(p.Backoff) == 0 {
		return
	}
	all := e.open("pacing")
	if d := p.Delay; d != nil {
		place := e.open("delay")
		e.wait("delay_ms", d.Delay)
		e.word("outcome", d.Outcome)
		e.wait("wait_ms", d.Wait)
		e.wait("budget_ms", d.Budget)
		e.instant("next_at", d.NextAt)
		e.text("recovered", d.Recovered)
		e.isTrue("licence_first", d.LicenceFirst)
		e.text("unavailable", d.Unavailable)
		e.close(place)
	}
	list := e.open("backoff")
	for i := range p.Backoff {
		p.Backoff[i].write(e)
	}
	e.closeList(list)
	e.close(all)
}

func (b *PacedBackoff) write(e *encoder) {
	place := e.item()
	e.text("target", b.Target)
	e.word("outcome", b.Outcome)
	e.positive("failures", int64(b.Failures))
	e.positive("status", int64(b.Status))
	e.instant("until", b.Until)
	e.isTrue("retry_after", b.RetryAfter)
	e.isTrue("capped", b.Capped)
	e.isTrue("date", b.Date)
	e.instant("reserved_until", b.ReservedUntil)
	if b.Outcome == "waited" || b.Outcome == "refused" {
		e.wait("wait_ms", b.Wait)
		e.wait("budget_ms", b.Budget)
	}
	e.text("unavailable", b.Unavailable)
	e.close(place)
}

// wait writes a duration that may be nothing: 0 is measured.
func (e *encoder) wait(name string, d time.Duration) {
	if d <= 0 {
		e.number(name, 0)
		return
	}
	e.millis(name, d)
}

// A CrawlDelay is what robots.txt states of the time between two requests, and
// how much of it is kept (E17).
type CrawlDelay struct {
	Values, Unreadable []string // as written
	Honoured           time.Duration
	Known, Capped      bool
}

func (d *CrawlDelay) write(e *encoder) {
	p := e.open("crawl_delay")
	e.texts("values", d.Values)
	e.texts("unreadable", d.Unreadable)
	if d.Known {
		e.wait("honoured_ms", d.Honoured)
	}
	e.isTrue("capped", d.Capped)
	e.close(p)
}
