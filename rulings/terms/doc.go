// Package terms is the book of what origins said: it asks an origin for its
// robots.txt, keeps the answer in memory and on disk, and hands it to rulings.
//
// A crossing asks Book.Robots and always gets a value: a live copy, the answer
// of a probe that it shares with every other crossing waiting for the same
// origin, the last answer that was read when the origin cannot be reached, or
// the statement that nothing is known. Deciding on that value is not done here.
//
// On disk stand, below the book's directory,
//
//	objects/<sha256>     the bytes that a ruling rested on, as the parser got them
//	origins/<key>.json   what each origin answered last, until when, and the held copy
//	origins/.lock        held by the process that is replacing a file of origins/
//
// Objects are evidence and are on disk before anybody hears of them. The files
// of origins/ are a cache: they may be deleted at any time, and several
// processes may share them.
package terms
