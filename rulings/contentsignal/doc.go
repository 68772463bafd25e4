// Package contentsignal reads Content-Signal, in which a source says what its
// content may be used for and how much of it may be kept (contentsignals.org;
// specs: terms, section 9).
//
// Parse reads the value of one robots.txt line behind its path, ParseFields the
// field lines of a response, and Purposes says what a Value means for what agents
// do. Which lines of a robots.txt count for a page is package robots' to say.
// Nothing here does I/O or keeps what it is given.
package contentsignal
