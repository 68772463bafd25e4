package certs

import (
	"container/list"
	"crypto/tls"
	"hash/maphash"
	"sync"
	"time"
)

// shardCount spreads the names over locks, so that handshakes for different
// hosts seldom wait for each other.
const shardCount = 16

// A leafCache holds at most a fixed number of leaves and drops those asked for
// longest ago (case P07: an agent that walks many hosts must not grow memory).
type leafCache struct {
	seed   maphash.Seed
	shards []shard
}

// A shard is the part of the cache that one lock guards. Nothing is signed and
// nobody waits while it is held.
type shard struct {
	max int

	mu     sync.Mutex
	byName map[string]*list.Element
	recent list.List // of *heldLeaf, the one asked for last in front
}

type heldLeaf struct {
	name    string
	cert    *tls.Certificate
	renewAt time.Time
}

// newLeafCache returns a cache of at most size leaves, at least one. Below
// sixteen leaves it has fewer shards, so that the bound still holds.
func newLeafCache(size int) *leafCache {
	size = max(size, 1)
	c := &leafCache{seed: maphash.MakeSeed(), shards: make([]shard, min(size, shardCount))}
	for i := range c.shards {
		c.shards[i].max = size / len(c.shards)
		c.shards[i].byName = make(map[string]*list.Element)
	}
	return c
}

func (c *leafCache) shard(name string) *shard {
	return &c.shards[maphash.String(c.seed, name)%uint64(len(c.shards))]
}

// get returns the leaf of name, or nil when there is none that is still good at now.
func (c *leafCache) get(name string, now time.Time) *tls.Certificate {
	s := c.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byName[name]
	if !ok {
		return nil
	}
	held := e.Value.(*heldLeaf)
	if !now.Before(held.renewAt) {
		return nil // the leaf that replaces it takes its place
	}
	s.recent.MoveToFront(e)
	return held.cert
}

// put holds cert for name until renewAt, in place of an older one.
func (c *leafCache) put(name string, cert *tls.Certificate, renewAt time.Time) {
	s := c.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	held := &heldLeaf{name, cert, renewAt}
	if e, ok := s.byName[name]; ok {
		e.Value = held
		s.recent.MoveToFront(e)
		return
	}
	s.byName[name] = s.recent.PushFront(held)
	if s.recent.Len() > s.max {
		oldest := s.recent.Remove(s.recent.Back()).(*heldLeaf)
		delete(s.byName, oldest.name)
	}
}

// len is how many leaves are held, for the metrics.
func (c *leafCache) len() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += s.recent.Len()
		s.mu.Unlock()
	}
	return n
}
