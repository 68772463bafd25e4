package evidence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
)

// Unfinished says what a Store's Repair would make up for in the log of a session
// below dataDir: words for each, none when there is nothing. It writes nothing.
// Damage is not among it: nothing mends that.
func Unfinished(dataDir string, s SessionInfo) ([]string, error) {
	var found []string
	if t := s.Completeness.Tear; t != nil && !t.Writing {
		found = append(found, "a torn last line")
	}
	dead, err := deadAmong(dataDir, s.Completeness.OpenEdges)
	if err != nil {
		return nil, err
	}
	if dead {
		found = append(found, "an edge that ended without saying so")
	}
	cut, err := sealCutShort(filepath.Join(dataDir, "sessions", s.Session))
	if err != nil {
		return nil, err
	}
	if cut {
		found = append(found, "a seal that was cut short")
	}
	return found, nil
}

// deadAmong reports whether one of the edges is dead for certain.
func deadAmong(dataDir string, ids []string) (bool, error) {
	for _, id := range ids {
		alive, _, err := probeEdge(filepath.Join(dataDir, "edges"), id)
		if err != nil || !alive {
			return err == nil, err
		}
	}
	return false, nil
}

// sealCutShort reports whether a sealed segment in dir lacks its summary, or the
// last one its head (E62).
func sealCutShort(path string) (bool, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	numbers, err := listSegments(dir)
	if err != nil || len(numbers) == 0 {
		return false, err
	}
	last := numbers[len(numbers)-1]
	for _, n := range numbers[:len(numbers)-1] {
		if _, err := dir.Lstat(summaryName(n)); err != nil {
			return errors.Is(err, fs.ErrNotExist), nil
		}
	}
	info, err := dir.Lstat(segmentName(last))
	return err == nil && last > 1 && info.Size() == 0, err
}

// stagingName is the name of a run's staging folder (E70).
var stagingName = regexp.MustCompile(`^\..+\.staging-\d{8}T\d{6}Z-[0-9a-f]{16}$`)

// Unpublished returns what interrupted runs left below dataDir (E72), in order:
// "runs/" and the name of each staging folder that no process works in.
func Unpublished(dataDir string) (left []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dataDir, "runs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	for _, e := range entries {
		if stagingName.MatchString(e.Name()) && !runGoesOn(filepath.Join(dataDir, "runs", e.Name())) {
			left = append(left, runPrefix+e.Name())
		}
	}
	return left, err
}

// runGoesOn reports whether the run with the staging folder dir goes on or is being
// published.
func runGoesOn(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // it has its name by now
	}
	defer f.Close()
	return beingWritten(f)
}

// LogNames returns the sessions below dataDir that have a log, in order.
func LogNames(dataDir string) ([]string, error) {
	root, err := os.OpenRoot(filepath.Join(dataDir, "sessions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := sessionNames(root)
	slices.Sort(names)
	return names, err
}
