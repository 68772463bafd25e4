// Package bodytype tells from the head of an answer and the first bytes of its
// body whether a screen can read it, and why not (specs: policy, O37, O41, O44).
//
// What cannot be read is told as early as the head allows, so that nothing is held
// back of it. The zero value of a verdict is not readable. Nothing here does I/O
// or keeps state; any number of goroutines may call it.
package bodytype
