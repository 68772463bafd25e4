// Package terms is the book of what origins said: it asks for their robots.txt,
// licences and tdmrep.json, keeps the answers in memory and on disk, and hands
// them to rulings.
//
// A crossing asks Book.Rule for its ruling, which looks up what the decision needs
// in the order of its stages, or asks for a single term. It always gets a value: a
// live copy, the answer of a probe that it shares with every other crossing
// waiting for the same, the last robots.txt that was read when its origin cannot
// be reached, or the statement why nothing is known. What a term means is not
// decided here.
//
// On disk stand, below the book's directory,
//
//	objects/<sha256>           the bytes that a ruling rested on, as the parser got them
//	origins/<key>.json         what each origin's robots.txt was last, until when, and the held copy
//	licences/<sha256>.json     the same for the licence at the URL of that hash; nothing is held of one
//	tdmrep/<key>.json          the same for each origin's tdmrep.json
//	<one of these>/.lock       held by the process that is replacing a file beside it
//
// Objects are evidence and are on disk before anybody hears of them. The other
// files are a cache: they may be deleted at any time, and several processes may
// share them.
package terms
