// Package pagetext takes the text out of an HTML page (specs: policy, O49, O50).
//
// The text is a function of the bytes alone, under rules whose digest pins them:
// whoever has the page reaches the same text. Nothing here does I/O or keeps
// state; any number of goroutines may call it.
package pagetext
