//go:build !linux

package evidence

import "os"

// syncData puts the content of f on disk. On macOS os.File.Sync is F_FULLFSYNC,
// which reaches behind the drive's cache; fsync(2) alone does not there.
func syncData(f *os.File) error { return f.Sync() }
