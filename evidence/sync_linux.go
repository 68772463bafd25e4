package evidence

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData puts the content of f on disk, with what is needed to read it back.
// fdatasync(2) does: it "does not flush modified metadata unless that metadata is
// needed in order to allow a subsequent data retrieval to be correctly handled",
// and names st_size as metadata that is. What it leaves out are the times, which
// no reader of a log uses. (POSIX.1-2017 3.384, synchronized I/O data integrity
// completion, demands the same.)
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
