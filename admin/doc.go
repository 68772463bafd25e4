// Package admin is the operators' desk: an HTTP API over what the logs hold and
// how the edge does, on a listener of its own.
//
// The logs are the truth. Nothing here keeps a state that could disagree with
// them, and nothing here lifts a source's terms.
package admin
