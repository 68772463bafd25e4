// Package robots reads robots.txt (RFC 9309) and rules what it says of a page:
// access, crawl-delay and the licences it names (specs: terms, sections 5 to 7
// and 10).
//
// Parse turns octets into a File, Select picks the groups that bind a list of
// product tokens, and Access rules a Page by them. Forms, patterns and readings
// stand in files of their own because other terms speak about paths in the same
// way. Nothing here does I/O or reads a clock. Files, selections, pages and
// patterns do not change once made, and any number of goroutines may use them.
package robots
