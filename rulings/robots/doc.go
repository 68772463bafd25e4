// Package robots reads robots.txt (RFC 9309) and rules what it says of a page:
// access, crawl-delay, the licences it names, and which of its statements on
// usage hold (specs: terms, sections 5 to 10, and T99).
//
// Parse turns octets into a File, Select picks the groups that bind a list of
// product tokens, and Access rules a Page by them. What the value of a statement
// means is for a parser of its own: Statements picks by path which lines count.
// Forms, patterns and readings stand in files of their own because other terms
// speak about paths in the same way. Nothing here does I/O or reads a clock.
// Files, selections, pages and patterns do not change once made, and any number
// of goroutines may use them.
package robots
