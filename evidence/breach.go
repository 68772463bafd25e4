package evidence

import (
	"iter"
	"slices"

	"github.com/wayleave/wayleave/rulings"
)

// HopBreach adds a breach of the operator's policy by a request for terms that was
// made on account of the crossing: of each host one (specs: policy O14).
func (c *Crossing) HopBreach(b rulings.Breach) {
	if !slices.ContainsFunc(c.hops, func(o rulings.Breach) bool { return o.Detail == b.Detail }) {
		c.hops = append(c.hops, b)
	}
}

// BreachReasons returns the reasons of all breaches that are carried, each once,
// in order of finding.
func (c *Crossing) BreachReasons() []string {
	var reasons []string
	for b := range c.carried() {
		if r := string(b.Reason); !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// carried yields the breaches by the crossing itself, then those by requests for
// terms.
func (c *Crossing) carried() iter.Seq[rulings.Breach] {
	return func(yield func(rulings.Breach) bool) {
		if c.Ruling != nil {
			for _, b := range c.Ruling.Breaches {
				if !yield(b) {
					return
				}
			}
		}
		for _, b := range c.hops {
			if !yield(b) {
				return
			}
		}
	}
}
