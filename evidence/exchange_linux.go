package evidence

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps what is at the paths a and b in one step (renameat2(2)).
func exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
