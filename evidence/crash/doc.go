// Package crash kills edges and checks what they leave. It is made of tests only.
//
// A child process appends to a log as fast as it can, in segments so small that
// it seals all the time, and says what was acknowledged. It is killed with
// SIGKILL: by another process at a random instant, or by itself at one named step
// of an append or of a seal, after any part of a write. Then the log has to read
// back, every acknowledged record has to be in it, the next edge has to tell of
// the one that died, and goes on in the same log.
//
//	go test ./evidence/crash                     # some 150 kills, as every run of the tests does
//	go test ./evidence/crash -run Random -count=100 -timeout 2h   # 10,000
//
// What a kill cannot show is whether a drive keeps what it acknowledged: the page
// cache outlives a process. There the evidence rests on the order of the calls,
// which the tests of package evidence count.
package crash
