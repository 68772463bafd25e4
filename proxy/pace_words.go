package proxy

import (
	"errors"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
)

// tell makes what an agent may be told of a refusal (P30 to P33).
func (p *Pacing) tell(e *backoff.RefusalError) rulings.PaceTerms {
	if e.Fault != nil {
		t := faultTerms(e.Fault)
		t.Cause = e
		return t
	}
	told := backoff.Tell(e.Refusal, e.Now, p.Shared)
	return rulings.PaceTerms{RetryAt: told.RetryAt, RetryAfter: time.Duration(told.RetryAfter) * time.Second, Told: paceWords(e, told), Cause: e}
}

// faultTerms is what an agent is told of a fault of the store (P32).
func faultTerms(fault error) rulings.PaceTerms {
	after := rulings.PacingStore.Facts().RetryAfter
	return rulings.PaceTerms{RetryAt: time.Now().Add(after), RetryAfter: after, Told: storeWords(fault), Cause: fault}
}

func paceWords(e *backoff.RefusalError, told backoff.Told) rulings.Words {
	wait, budget := rulings.Number(told.RetryAfter), rulings.Seconds(e.Total)
	delay := rulings.Seconds(e.Delay)
	switch {
	case !told.Timing && told.RetryAt.IsZero():
		return rulings.Say("The site is being paced. Nothing was requested. Ask again in % s.", wait)
	case !told.Timing:
		return rulings.Say("The site is being paced. Nothing was requested. Ask again after %.", rulings.Instant(told.RetryAt))
	case e.Record.Delay != nil && e.Record.Delay.LicenceFirst:
		return rulings.Say("The site asks for % s between two requests, and terms of this page have to be read first. Its turn is in % s, longer than what is left of the % s that a request may wait. "+
			"Nothing was requested. Ask again after %.", delay, seconds(e.Record.Delay.Wait), budget, rulings.Instant(told.RetryAt))
	case e.Reason == backoff.ReasonCrawlDelay:
		return rulings.Say("The site asks for % s between two requests. Its next turn is in % s, longer than what is left of the % s that a request may wait. Nothing was requested. Ask again after %.",
			delay, wait, budget, rulings.Instant(told.RetryAt))
	case told.UnderWay:
		return rulings.Say("Another request to the site, which was failing, is under way, and the % s that a request may wait are over. Nothing was requested. Ask again after %.",
			budget, rulings.Instant(told.RetryAt))
	case told.HostStatus == 0: // nothing binds yet, and the line that waits to know is full
		return rulings.Say("Requests to the site wait for an answer that is still being read, and there are too many of them. Nothing was requested. Ask again after %.", rulings.Instant(told.RetryAt))
	}
	return rulings.Say("The site answered with status % and is left alone. It may be asked in % s, longer than what is left of the % s that a request may wait. Nothing was requested. Ask again after %.",
		rulings.Number(told.HostStatus), wait, budget, rulings.Instant(told.RetryAt))
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) rulings.Number {
	return rulings.Number((d + time.Second - 1) / time.Second)
}

// storeWords tells class of fault and remedy, without paths (P39): of a request
// that was not sent, or of one whose answer is not used (P40).
func storeWords(err error) rulings.Words {
	words := storeTold[backoff.FaultUnknown]
	if fault, ok := errors.AsType[*backoff.StoreError](err); ok {
		if known, ok := storeTold[fault.Fault]; ok {
			words = known
		}
		if fault.Away {
			words = storeAway
		}
	}
	if isUnusable(err) {
		return words.notUsed
	}
	return words.notSent
}

type faultWords struct{ notSent, notUsed rulings.Words }

// storeAway is told where what keeps the pace is a server that cannot be reached.
var storeAway = faultWords{
	rulings.Say("The pace of the site could not be kept, so it is not asked: the server that keeps it cannot be reached. The operator has to start it, or repair the way to it."),
	rulings.Say("The site answered, but its pace could not be kept, so the answer is not used: the server that keeps it cannot be reached. The operator has to start it, or repair the way to it."),
}

var storeTold = func() map[backoff.Fault]faultWords {
	write := faultWords{
		rulings.Say("The pace of the site could not be kept, so it is not asked: the edge's pacing directory cannot be written. The operator has to make it writable."),
		rulings.Say("The site answered, but its pace could not be kept, so the answer is not used: the edge's pacing directory cannot be written. The operator has to make it writable."),
	}
	return map[backoff.Fault]faultWords{
		backoff.DirectoryNotWritable: write, backoff.DirectoryMissing: write, backoff.StateNotWritable: write,
		backoff.StateUnreadable: {
			rulings.Say("The pace of the site could not be kept, so it is not asked: what is stored of it cannot be read. The operator has to repair access to it or remove it."),
			rulings.Say("The site answered, but its pace could not be kept, so the answer is not used: what is stored of it cannot be read. The operator has to repair access to it or remove it."),
		},
		backoff.LockHeld: {
			rulings.Say("The pace of the site could not be kept, so it is not asked: another process holds its lock."),
			rulings.Say("The site answered, but its pace could not be kept, so the answer is not used: another process holds its lock."),
		},
		backoff.LockNotOpenable: {
			rulings.Say("The pace of the site could not be kept, so it is not asked: its lock belongs to another user. The operator has to make it usable or remove it."),
			rulings.Say("The site answered, but its pace could not be kept, so the answer is not used: its lock belongs to another user. The operator has to make it usable or remove it."),
		},
		backoff.FaultUnknown: {
			rulings.Say("The pace of the site could not be kept, so it is not asked. The fault is the edge's."),
			rulings.Say("The site answered, but its pace could not be kept, so the answer is not used. The fault is the edge's."),
		},
	}
}()
