// Package rsl reads RSL licences (RSL 1.0) and rules what they say of a page:
// which entries govern it, and what these come to for a purpose (specs: terms,
// sections 12 to 14).
//
// Parse turns octets into a Document, Index compiles its entries' urls, Select
// picks the entries that govern a page, and Rule or RuleAll says whether one use
// of it is licensed. How paths match is for the caller to bring (Paths), because
// every term that speaks about paths must mean the same by them. Nothing here
// does I/O or reads a clock. Documents and indexes do not change once made, and
// any number of goroutines may use them.
//
// The XML reader is our own. RSL documents come from strangers, and a reader
// that forgives makes two documents out of one: encoding/xml takes undeclared
// prefixes, duplicate attributes, attributes without space between them, several
// roots and references to surrogates, and most of that can no longer be seen in
// its tokens. A fuzz test uses it as the second reader.
package rsl
