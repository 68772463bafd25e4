package recording

import (
	"fmt"
	"strings"
)

// A Fault is one thing for which a recording is not replayed (O63).
type Fault struct {
	File string // relative to the recording
	Line int    // of the manifest; 0: it is about no line

	// The exchange it is about; 0 and empty if it is about none.
	N            int
	Method, Host string

	// The digest the manifest names, and that of what is there; empty unless they
	// differ.
	Want, Got string

	What string // in words
}

// String returns the fault as one line.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": ")
	if f.N > 0 {
		fmt.Fprintf(&b, "exchange %d", f.N)
		if f.Method != "" || f.Host != "" {
			fmt.Fprintf(&b, " (%s)", strings.TrimSpace(f.Method+" "+f.Host))
		}
		b.WriteString(": ")
	}
	b.WriteString(f.What)
	if f.Want != f.Got {
		fmt.Fprintf(&b, ": the manifest has %s, the file %s", f.Want, f.Got)
	}
	return b.String()
}

// A FaultsError is every fault of a recording, those of the manifest first, then
// those of files in the order of the exchanges, then hosts that are missing.
type FaultsError struct {
	Dir    string
	Faults []Fault
}

func (e *FaultsError) Error() string {
	lines := []string{fmt.Sprintf("the recording %s cannot be replayed:", e.Dir)}
	for _, f := range e.Faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}
