// Package durable makes files that are on disk when the call returns, and opens
// and locks those that several processes append to.
//
// What "on disk" means here, as system calls:
//
//   - the content: fsync(2) on the file before it gets its name. On macOS
//     os.File.Sync issues F_FULLFSYNC, because fsync alone stops at the drive's
//     cache there (fcntl(2)).
//   - the name: fsync(2) on the directory after rename(2), link(2) or mkdir(2).
//     fsync(2): "Calling fsync() does not necessarily ensure that the entry in
//     the directory containing the file has also reached disk. For that an
//     explicit fsync() on a file descriptor for the directory is also needed."
//   - never half: rename(2) replaces a name atomically and link(2) makes it
//     exclusively, and both happen after the content is on disk. So a name holds
//     the old content, the new content, or nothing.
//
// A failed fsync is never tried again on the same file: the kernel may have
// dropped the dirty pages and report success the second time (fsync(2), errors
// are reported once; Rebello et al., "Can Applications Recover from fsync
// Failures?", USENIX ATC 2020). The temporary file is thrown away instead.
//
// The known gap: all of this hangs on the drive and the file system keeping what
// they acknowledge. A drive that lies about its cache, or a network file system
// that answers fsync without asking its server, cannot be told from here.
//
// A crash may leave a temporary file, named .<name>.tmp-<digits>, beside the
// target. Nothing reads these; they can be deleted.
package durable
