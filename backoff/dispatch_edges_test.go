package backoff_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// A sluggish store is slow in all it does, now and then very slow, and wakes its
// callers late: an edge on a busy machine with a slow disk.
type sluggish struct {
	backoff.Store
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
	most   time.Duration
}

func (s *sluggish) dawdle() {
	s.mu.Lock()
	d := time.Duration(s.random.Int64N(int64(s.most) / 20))
	if s.random.IntN(8) == 0 {
		d = time.Duration(s.random.Int64N(int64(s.most)))
	}
	s.mu.Unlock()
	time.Sleep(d)
}

func (s *sluggish) Turn(ctx context.Context, host string, delay, budget time.Duration) (backoff.Turn, error) {
	s.dawdle()
	defer s.dawdle()
	return s.Store.Turn(ctx, host, delay, budget)
}

func (s *sluggish) Handed(ctx context.Context, host string, turn backoff.Turn, delay, lead time.Duration) (backoff.Handover, error) {
	s.dawdle()
	h, err := s.Store.Handed(ctx, host, turn, delay, lead)
	done := time.Now()
	s.dawdle()
	h.Left -= time.Since(done)
	return h, err
}

// Three edges on one directory, one of which is started again, and fifty agents
// that all want one host: what goes, goes a delay apart, however late each is.
func TestP13_ConcurrentClientsOfSeveralEdgesAreNeverCloserThanTheDelay(t *testing.T) {
	const delay, agents, edges = time.Second, 50, 3
	for _, tt := range []struct {
		name string
		most time.Duration // that a call is slow by
	}{
		{"nobody is late", 20},
		{"late by a little", 60 * time.Millisecond},
		{"late by half a delay", delay / 2},
		{"late by more than a delay", 2 * delay},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, config := t.TempDir(), backoff.Config{MaxWait: time.Hour}
				start := func(edge uint64) *backoff.Dispatcher {
					files := backoff.NewFileStore(dir, backoff.FileOptions{Config: config})
					return backoff.NewDispatcher(&sluggish{Store: files, random: rand.New(rand.NewPCG(edge, 13)), most: tt.most}, config)
				}
				var running [edges]*backoff.Dispatcher
				for i := range running {
					running[i] = start(uint64(i))
				}
				var went []time.Duration
				var mu sync.Mutex
				var all sync.WaitGroup
				begin := time.Now()
				for agent := range agents {
					if agent == agents/2 {
						synctest.Wait()
						running[0] = start(edges) // its former self hands over what it holds
					}
					all.Go(func() {
						d := running[agent%edges]
						pass, err := d.Go(t.Context(), backoff.Request{Host: host, Delay: backoff.Delay{Honoured: delay}, Budget: d.NewBudget()})
						if err == nil {
							err = pass.Handed(t.Context())
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						went = append(went, time.Since(begin))
						mu.Unlock()
						if _, err := pass.Answered(t.Context(), backoff.Answer{Status: 200}); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				slices.Sort(went)
				if len(went) != agents {
					t.Errorf("%d requests went", len(went))
				}
				for i := range went[1:] {
					if apart := went[i+1] - went[i]; apart < delay {
						t.Errorf("requests went at %v and %v, only %v apart", went[i], went[i+1], apart)
					}
				}
				t.Logf("the last one went at %v", went[len(went)-1])
			})
		})
	}
}
