package evidence

import (
	"iter"
	"slices"

	"github.com/wayleave/wayleave/rulings"
)

// Breach adds a breach of the operator's policy that no ruling on the crossing
// comes to, once: by a request for terms that was made on its account (specs:
// policy O14), or by the source's charge for it (T104).
func (c *Crossing) Breach(b rulings.Breach) {
	if !slices.ContainsFunc(c.beside, func(o rulings.Breach) bool { return o.Detail == b.Detail }) {
		c.beside = append(c.beside, b)
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

// carried yields the breaches that the ruling has, then those beside it.
func (c *Crossing) carried() iter.Seq[rulings.Breach] {
	return func(yield func(rulings.Breach) bool) {
		if c.Ruling != nil {
			for _, b := range c.Ruling.Breaches {
				if !yield(b) {
					return
				}
			}
		}
		for _, b := range c.beside {
			if !yield(b) {
				return
			}
		}
	}
}
