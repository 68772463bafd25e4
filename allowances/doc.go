// Package allowances keeps what the operator lets crossings to priced services
// cost, and what they have cost (specs: policy, O30 to O34).
//
// Before a crossing is dispatched its price is reserved in the ledger of each
// allowance that covers it, all or none, and what is reserved is on disk when
// [Ledger.Reserve] returns. After the receipt the observed charge settles the
// reservation; where nothing was sent it is released. Concurrent crossings, of any
// number of goroutines and processes, never reserve the same money twice.
//
// What is not known is never counted as nothing: a charge that nobody could read,
// another currency, or a ledger that has damage in it make the allowance
// unenforceable for the rest of its period.
//
// # The ledger
//
//	allowances/<name>.jsonl
//
//	{"event":"opened","at":"2026-03-01T12:00:00.000Z","edge":"…","format":"wayleave-allowance/1","allowance":"team"}
//	{"event":"reserved","at":"…","edge":"…","reservation":"…","crossing":"…","decision":"reserved","basis":"declared","amount":"0.02","currency":"USD"}
//	{"event":"settled","at":"…","edge":"…","reservation":"…","reserved_at":"…","amount":"0.02","currency":"USD"}
//
// Lines are only ever appended, each write under the exclusive advisory lock of the
// file, and synced before anybody acts on it. A line belongs to the period of its
// reservation's instant, so a charge that becomes known after midnight counts for
// the day on which it was dispatched.
//
//	reserved    counts in full until one of the next three
//	settled     is money spent; without an amount, nobody knows how much
//	released    nothing was sent
//	lost        the reservation's edge died: it counts in full to the period's end
//	unreadable  something before this line could not be read or was not written
//	torn        the lines before this one, of these lengths, were cut short
//
// A crash leaves a line without its end. Nothing was done on the strength of it,
// so the next append marks it as torn and goes on. Any other line that cannot be
// read is damage. What the lines on both sides of it say bounds when it was
// written, and the periods it may belong to are unenforceable.
//
// A ledger that is missing is made from what the evidence says was charged in the
// current period.
package allowances
