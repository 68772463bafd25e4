// Package robotstag reads X-Robots-Tag fields and robots metas for the rules about
// AI in them (specs: terms, T98).
//
// The other rules there are for search engines; they are listed and say nothing.
// Nothing here does I/O or keeps state; any number of goroutines may call it.
package robotstag
