// Package links reads Link fields (RFC 8288) for the RSL licences they name
// (specs: terms, T59 to T64).
//
// A field line is octets, not text: one title in another charset must not cost
// the licence beside it, and a member that cannot be read but speaks of a licence
// must not read as silence. So Licences returns both what is named and what could
// not be made out. Nothing here does I/O or keeps state; any number of goroutines
// may call it.
package links
