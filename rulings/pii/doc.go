// Package pii finds personal data in text by six grammars (specs: policy, O42,
// O43, O48).
//
// It says where something stands and of which category it is, never what stands
// there, so that a record made of its findings holds no personal data. The bytes
// are read as ASCII, whatever the charset is: those above 127 are neither letters
// nor digits. Time is linear in the text for any input, memory is bounded by
// MaxFindings. Nothing here does I/O or keeps state; any number of goroutines may
// call it.
package pii
