package backoff

import (
	"errors"
	"io/fs"
	"strings"
)

// A Fault is a row of the table of store faults (P38): what about a store is
// broken.
type Fault int

// The faults. The zero value is a fault nobody classed; it refuses like the rest.
const (
	FaultUnknown         Fault = iota
	DirectoryNotWritable       // read-only, full, another's, or a file in its place
	DirectoryMissing           // and it cannot be made
	StateUnreadable            // permission, not JSON, another host's, impossible values; or a server that cannot be reached
	LockHeld                   // by another process, for the whole of Config.LockWait
	LockNotOpenable            // it exists and cannot be opened
	StateNotWritable           // the state cannot be written, renamed or removed
)

// faults holds what each fault is called, with what it is about left to be put
// in, and what repairs it. Neither names a path.
var faults = [...]struct{ class, remedy string }{
	FaultUnknown:         {"the pacing state @ is not available", "look into the record of this crossing"},
	DirectoryNotWritable: {"the directory @ of the pacing state cannot be written", "make it a directory that this user can write, with room left"},
	DirectoryMissing:     {"the directory @ of the pacing state is missing and cannot be made", "make it, writable by this user"},
	StateUnreadable:      {"the pacing state @ of this host cannot be read", "repair access to it or remove it"},
	LockHeld:             {"the lock @ of this host's pacing state is held by another process", "find out why that process holds it so long"},
	LockNotOpenable: {"the lock file @ of this host's pacing state cannot be opened", "make it readable and writable by this user, or remove it once any " +
		"wayleave process run as another user, such as under sudo, has been stopped"},
	StateNotWritable: {"the pacing state of this host cannot be written to the directory @", "make it a directory that this user can write, with room left"},
}

func (f Fault) row() struct{ class, remedy string } {
	if f < 0 || int(f) >= len(faults) {
		f = FaultUnknown
	}
	return faults[f]
}

// String returns the class of the fault, in words that name no path.
func (f Fault) String() string {
	return strings.Replace(f.row().class, " @", "", 1)
}

// A StoreError is what a Store fails with. Error names the path to repair, for
// the record, the log and the operator; an agent is told Told only (P39).
type StoreError struct {
	Fault Fault
	Path  string // what to repair: the directory, the state file, the lock file, or a server's address
	Owner string // uid of Path's owner, in decimal, where the fault hangs on it; empty: it does not
	Fix   string // what repairs it, without a path; empty: the fault's own
	Away  bool   // Path is a server that cannot be reached
	Err   error  // what the system said
}

// Remedy returns what repairs the fault, in words that name no path.
func (e *StoreError) Remedy() string {
	if e.Fix != "" {
		return e.Fix
	}
	return e.Fault.row().remedy
}

// Told returns the class of the fault and its remedy as one sentence that names
// no path, no host and no user.
func (e *StoreError) Told() string {
	return e.Fault.String() + ": " + e.Remedy()
}

// Error returns all that is known of the fault.
func (e *StoreError) Error() string {
	var b strings.Builder
	b.WriteString(strings.Replace(e.Fault.row().class, "@", e.Path, 1))
	if e.Owner != "" {
		b.WriteString(", its owner is uid " + e.Owner)
	}
	if e.Err != nil {
		cause := e.Err
		if inner := (*fs.PathError)(nil); errors.As(cause, &inner) {
			cause = inner.Err // it names the path once more
		}
		b.WriteString(" (" + cause.Error() + ")")
	}
	b.WriteString(": " + e.Remedy())
	return b.String()
}

// Unwrap returns what the system said.
func (e *StoreError) Unwrap() error { return e.Err }
