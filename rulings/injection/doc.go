// Package injection is the screen for sentences that speak to a model instead of
// to a reader (specs: policy, O42, O43, O46, O47).
//
// RuleText is all there is to the rules: the matcher is compiled from it, so that
// the digest of the text names the behaviour. A page is mostly without a match, and
// that must cost next to nothing. Each rule therefore names anchors, rare words of
// which one stands in every match (a test proves it from the compiled rule). A sieve
// finds them by looking at three octets in every three; only round an anchor are
// words told apart and put through one automaton that has all rules. What was walked
// is not walked again, so time is linear in the input whatever it holds.
//
// Nothing here keeps state; any number of goroutines may call it.
package injection
