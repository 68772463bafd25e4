// Package hostkey gives a host its one spelling, the key under which pacing,
// policy and terms know it, and an origin its name and its file.
//
// Everything here is a pure function of its arguments and may be called from
// any number of goroutines.
package hostkey
