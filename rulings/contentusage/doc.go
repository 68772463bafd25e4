// Package contentusage reads Content-Usage, in which a source says with AIPREF's
// vocabulary what its content may be used for (draft-ietf-aipref-vocab-08 and
// -attach-05; specs: terms, section 8).
//
// Parse reads the value of one robots.txt line behind its path, ParseFields the
// field lines of a response, and Purposes says what a Value means for what agents
// do. Which lines of a robots.txt count for a page is package robots' to say.
// Nothing here does I/O or keeps what it is given.
package contentusage
