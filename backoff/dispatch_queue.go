package backoff

import (
	"context"
	"slices"
	"time"
)

// A slot is a turn that the queue of a line has.
type slot struct {
	turn Turn
	due  time.Time // by this process's clock
}

// A place is where a waiter stands in the queue.
type place struct {
	isFirst bool      // it goes next, on turn
	lacks   bool      // it is the first that has no turn
	turn    time.Time // the first turn
	due     time.Time // when the first may go: on its turn, and not before delay has passed since the last one went (P11)
}

// place returns where w stands.
func (h *line) place(w *waiter, delay time.Duration) place {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropMissed()
	i := slices.Index(h.queue, w)
	p := place{isFirst: i == 0 && len(h.turns) > 0, lacks: i == len(h.turns)}
	if p.isFirst {
		p.turn = h.turns[0].due
		if p.due = p.turn; !h.gone.IsZero() {
			p.due = laterOf(p.due, h.gone.Add(delay))
		}
	}
	return p
}

// moveUp takes w from the door to the end of the queue, with the turn it took.
func (h *line) moveUp(w *waiter, s slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue = append(h.queue, w)
	h.leaveDoor(w)
	h.add(s)
}

// takes adds a turn that a waiter took which lacked one.
func (h *line) takes(s slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(s)
}

// add puts a turn where it belongs by its time.
func (h *line) add(s slot) {
	i := len(h.turns)
	for i > 0 && s.turn.At.Before(h.turns[i-1].turn.At) {
		i--
	}
	h.turns = slices.Insert(h.turns, i, s)
	if i == 0 { // it sleeps until a later one
		rouseFirst(h.queue)
	}
	h.trim()
}

// trim gives up the turns that nobody is left for, and wakes who lacks one.
func (h *line) trim() {
	for len(h.turns) > len(h.queue) {
		last := len(h.turns) - 1
		h.spare = append(h.spare, h.turns[last])
		h.turns = h.turns[:last]
	}
	if lacking := len(h.turns); lacking < len(h.queue) {
		h.queue[lacking].rouse()
	}
}

// heldUp says that until now something else than the clock kept the queue from
// moving, so that turns until now were missed.
func (h *line) heldUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = time.Now()
}

// dropMissed gives up the turns that passed while the queue was held up.
func (h *line) dropMissed() {
	n := 0
	for n < len(h.turns) && h.turns[n].due.Before(h.held) {
		n++
	}
	h.drop(n)
}

// dropFirst gives up the first turn, which was missed.
func (h *line) dropFirst() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(min(1, len(h.turns)))
}

func (h *line) drop(n int) {
	if n == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		h.spare = append(h.spare, h.turns[i])
	}
	h.turns = slices.Delete(h.turns, 0, n)
	h.trim()
}

// leaveQueue takes w from the queue and leaves its turn to those behind it.
func (h *line) leaveQueue(w *waiter) {
	i := slices.Index(h.queue, w)
	if i < 0 {
		return
	}
	h.queue = slices.Delete(h.queue, i, i+1)
	h.trim()
	if i == 0 {
		rouseFirst(h.queue)
	}
}

// firstTurn is the turn that the first of the queue goes on, when it may.
func (h *line) firstTurn() (t Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.turns) > 0 {
		t = h.turns[0].turn
	}
	return t
}

// handedOver takes w, the first of the queue, from it with the first turn, which
// it went on, no later than at gone. A holder that got its pass long before has
// held up the queue.
func (h *line) handedOver(w *waiter, delay time.Duration, given, gone time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !first(h.queue, w) || len(h.turns) == 0 {
		return
	}
	h.queue, h.turns = slices.Delete(h.queue, 0, 1), slices.Delete(h.turns, 0, 1)
	h.gone, h.delay = gone, delay
	if now := time.Now(); now.Sub(given) > late {
		h.held = now
	}
	rouseFirst(h.queue)
}

// giveBack returns spare turns to the store, the last one first and one at a
// time, since each can be taken back only while none is behind it. A turn that
// the store does not take back passes unused, which harms nobody.
func (h *line) giveBack(ctx context.Context, store Store) {
	ctx = context.WithoutCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.giving {
		return
	}
	h.giving = true
	for len(h.spare) > 0 {
		turn := h.spare[0].turn
		h.spare = slices.Delete(h.spare, 0, 1)
		h.mu.Unlock()
		_ = store.GiveBack(ctx, h.host, turn)
		h.mu.Lock()
	}
	h.giving = false
}

// waitOf is how far off the turn is that w would go on, or a newcomer if w does
// not stand in the queue.
func (h *line) waitOf(w *waiter, delay time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	due := laterOf(now, h.gone.Add(delay))
	for i, ahead := range h.queue {
		if i < len(h.turns) {
			due = laterOf(due, h.turns[i].due)
		}
		if ahead == w {
			break
		}
		due = due.Add(delay)
	}
	return roundUp(due.Sub(now))
}
