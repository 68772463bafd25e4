//go:build !linux

package evidence

import (
	"errors"
	"os"
)

// exchange is not there: a published run is not replaced on this system.
func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}
