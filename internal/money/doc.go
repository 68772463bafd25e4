// Package money counts money in whole millionths of a currency's unit, so that
// sums are exact and no amount ever goes through a binary fraction (specs: policy
// O7, O31).
//
// An amount is written as a decimal of at most 12 digits before and 6 behind the
// point, without sign or exponent. Nothing here does I/O or keeps state; any
// number of goroutines may call it.
package money
