package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/certs"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

const (
	diskLow   = 1 << 30  // bytes free below which somebody should know
	diskShort = 64 << 20 // and below which records may soon not be written
	filesLow  = 4096     // open files: two connections a crossing, and the logs
)

// checkData writes a file the way evidence is written. A directory that is not
// there yet is no fault: the first start makes it.
func checkData(dir string) finding {
	const name = "data"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, note, dir + " is not there yet; the first start makes it"}
	case err != nil:
		return finding{name, bad, err.Error()}
	case !info.IsDir():
		return finding{name, bad, dir + " is no directory"}
	case info.Mode().Perm()&0o077 != 0:
		return finding{name, bad, fmt.Sprintf("%s is open to others (%#o): run chmod 700 on it", dir, info.Mode().Perm())}
	}
	probe := filepath.Join(dir, fmt.Sprintf(".doctor-%d", os.Getpid()))
	if err := durable.WriteFile(probe, []byte("probe\n"), 0o600); err != nil {
		return finding{name, bad, "cannot be written and synced: " + err.Error()}
	}
	if err := os.Remove(probe); err != nil {
		return finding{name, bad, err.Error()}
	}
	return finding{name, fine, dir + " can be written and synced"}
}

// checkDisk looks at the file system that holds, or would hold, the directory.
func checkDisk(dir string) finding {
	const name = "disk"
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return finding{name, bad, fmt.Sprintf("%s: %v", dir, err)}
	}
	free := s.Bavail * uint64(s.Bsize)
	detail := fmt.Sprintf("%d MiB free", free>>20)
	switch {
	case free < diskShort:
		return finding{name, bad, detail + "; records may not fit"}
	case free < diskLow:
		return finding{name, note, detail}
	}
	return finding{name, fine, detail}
}

// checkLogs reads every log, looks for damage, and returns what it read.
func checkLogs(dir string) ([]evidence.SessionInfo, finding) {
	const name = "logs"
	sessions, err := allSessions(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, finding{name, fine, "none yet"}
	}
	if err != nil {
		return nil, finding{name, bad, err.Error()}
	}
	for _, s := range sessions {
		if s.Completeness.Fault != "" {
			return sessions, finding{name, bad, fmt.Sprintf("%s cannot be read: %s", s.Session, s.Completeness.Fault)}
		}
		if s.Completeness.Damaged > 0 {
			return sessions, finding{name, bad, fmt.Sprintf("%s is damaged in %d places", s.Session, s.Completeness.Damaged)}
		}
	}
	return sessions, finding{name, fine, fmt.Sprintf("%d sessions", len(sessions))}
}

func allSessions(dir string) ([]evidence.SessionInfo, error) {
	index, err := evidence.OpenIndex(dir)
	if err != nil {
		return nil, err
	}
	defer index.Close()
	return index.Sessions()
}

// checkCA loads the CA if there is one, and returns its certificate.
func (c *cli) checkCA(cfg *config) (*x509.Certificate, finding) {
	const name = "ca"
	if _, err := os.Stat(filepath.Join(caDir(cfg.data), "ca.pem")); errors.Is(err, fs.ErrNotExist) {
		return nil, finding{name, note, "there is none yet; the first start makes it"}
	}
	a, err := certs.Open(caDir(cfg.data), c.caOptions(cfg))
	if err != nil {
		return nil, finding{name, bad, err.Error()}
	}
	block, _ := pem.Decode(a.PEM())
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, finding{name, bad, err.Error()}
	}
	return cert, finding{name, fine, "valid until " + cert.NotAfter.Format(time.DateOnly)}
}

// checkClock compares the clock with what was written earlier on this machine: a
// clock that was set back makes certificates invalid and terms live too long.
func checkClock(sessions []evidence.SessionInfo, ca *x509.Certificate, now time.Time) finding {
	const name = "clock"
	if ca != nil && now.Before(ca.NotBefore) {
		return finding{name, bad, fmt.Sprintf("%s is before the CA was made", now.UTC().Format(time.RFC3339))}
	}
	for _, s := range sessions {
		if last, err := time.Parse(time.RFC3339, s.Last); err == nil && now.Before(last.Add(-time.Second)) {
			return finding{name, bad, fmt.Sprintf("%s is before the last record of %s (%s)", now.UTC().Format(time.RFC3339), s.Session, s.Last)}
		}
	}
	return finding{name, fine, now.UTC().Format(time.RFC3339)}
}

// checkFiles looks at the limit of open files. The Go runtime raises the soft
// limit to the hard one when a program starts, and gives children the old one.
func checkFiles() finding {
	const name = "open files"
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return finding{name, bad, err.Error()}
	}
	if limit.Cur < filesLow {
		return finding{name, note, fmt.Sprintf("%d at most; many agents at once need more (ulimit -Hn)", limit.Cur)}
	}
	return finding{name, fine, fmt.Sprintf("%d at most", limit.Cur)}
}
