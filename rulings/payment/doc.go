// Package payment reads what an answer asks to be paid or says it charged, and
// finds the request fields that spend (specs: terms, T101 to T106).
//
// Nothing is ever paid on account of what stands here: it is recorded, and a
// request that would spend is refused before it is sent. What a source chose is
// cut to a length; what an agent would spend with is never returned at all. Nothing
// here does I/O or keeps state; any number of goroutines may call it.
package payment
