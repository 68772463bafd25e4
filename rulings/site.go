package rulings

import (
	"github.com/wayleave/wayleave/rulings/robots"
)

// A Site is a robots.txt with what it states, read once for all the pages that
// are ruled on it. It never changes, so any number of goroutines may use it.
type Site struct {
	*robots.File
}

// ParseSite reads a robots.txt. No input is an error (T22); time and memory are
// in proportion to the length of body.
func ParseSite(body []byte) *Site {
	return &Site{File: robots.Parse(body)}
}
