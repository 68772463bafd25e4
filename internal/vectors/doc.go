// Package vectors reads vector files for the tests that run them.
//
// A vector file is JSON of the form {"about": …, "vectors": […]}. One file holds
// the vectors of several packages: each takes those that it can answer and reads
// of them the members that it asks for, so a member that it does not know is not a
// fault. What must not happen is a test that passes because it ran nothing; a file
// that is missing or of which nothing was taken therefore fails the test, and so
// does a vector whose ID could not name one failure.
package vectors
