package valkey

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of what is on the way to the server: so many scripts in one message, and
// so many messages at once.
const (
	maxBatch  = 128
	maxFlying = 4
)

// A batcher sends the scripts that are waiting together. Under load a script costs
// both sides a fraction of a message so, and when there is none the first one
// waits for nobody. A caller that goes away leaves its script behind: if it was
// not sent yet, it never is.
type batcher struct {
	client *redis.Client
	wait   time.Duration // for the answer to a message

	running sync.WaitGroup // messages on their way

	mu      sync.Mutex // guards what follows
	waiting []*script
	flying  int
}

// A script is one to be run on one key.
type script struct {
	code *redis.Script
	key  string
	args []any

	state atomic.Int32  // unsent, then sent or left
	done  chan struct{} // closed when the rest is set
	reply []any
	err   error
}

const (
	unsent = iota
	sent
	left
)

// run runs a script and waits for its answer, or for the end of ctx.
func (b *batcher) run(ctx context.Context, code *redis.Script, key string, args []any) ([]any, error) {
	s := &script{code: code, key: key, args: args, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, s)
	if b.flying < maxFlying {
		b.flying++
		b.running.Go(b.fly)
	}
	b.mu.Unlock()
	select {
	case <-s.done:
		return s.reply, s.err
	case <-ctx.Done():
		s.state.CompareAndSwap(unsent, left)
		return nil, ctx.Err()
	}
}

// fly sends what is waiting until nothing is.
func (b *batcher) fly() {
	for batch := b.next(); len(batch) > 0; batch = b.next() {
		b.send(batch)
		for _, s := range batch {
			close(s.done)
		}
	}
}

// next takes the scripts of the next message; none ends the flight.
func (b *batcher) next() (batch []*script) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := 0
	for _, s := range b.waiting {
		if len(batch) == maxBatch {
			break
		}
		if taken++; s.state.CompareAndSwap(unsent, sent) {
			batch = append(batch, s)
		}
	}
	b.waiting = b.waiting[taken:]
	if len(b.waiting) == 0 {
		b.waiting = nil
	}
	if len(batch) == 0 {
		b.flying--
	}
	return batch
}

// send runs a batch by the scripts' digests, and those whole that the server did
// not know.
func (b *batcher) send(batch []*script) {
	b.exchange(batch, func(ctx context.Context, p redis.Pipeliner, s *script) *redis.Cmd {
		return s.code.EvalSha(ctx, p, []string{s.key}, s.args...)
	})
	var unknown []*script
	for _, s := range batch {
		if s.err != nil && redis.HasErrorPrefix(s.err, "NOSCRIPT") {
			unknown = append(unknown, s)
		}
	}
	if len(unknown) > 0 {
		b.exchange(unknown, func(ctx context.Context, p redis.Pipeliner, s *script) *redis.Cmd {
			return s.code.Eval(ctx, p, []string{s.key}, s.args...)
		})
	}
}

// exchange sends one message and reads its answer.
func (b *batcher) exchange(batch []*script, command func(context.Context, redis.Pipeliner, *script) *redis.Cmd) {
	ctx, cancel := context.WithTimeout(context.Background(), b.wait)
	defer cancel()
	commands := make([]*redis.Cmd, len(batch))
	p := b.client.Pipeline()
	for i, s := range batch {
		commands[i] = command(ctx, p, s)
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, s := range batch {
		s.reply, s.err = commands[i].Slice()
	}
}
