// Package htmlhead reads what the head of an HTML page states of the page's
// terms: licences it names or holds, and metas (specs: terms, T66 to T68, T118).
//
// The head is read while the page is on its way to the agent, so Read takes from
// the stream no further than it must to know that the head has ended. What is in
// it that bears on the terms comes back a second time as octets, Head.Extract:
// Restore reads these, years later and without the page, and finds the same.
// Nothing here keeps state; any number of goroutines may call it.
package htmlhead
