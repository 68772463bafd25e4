// Package tdm reads reservations of text and data mining (TDMRep): the file
// /.well-known/tdmrep.json, the field and the meta (specs: terms, T95 and T96).
//
// Whether a location matches a page is for the caller to find out: locations are
// path patterns, which other terms have too. Nothing here does I/O or keeps
// state; any number of goroutines may call it.
package tdm
