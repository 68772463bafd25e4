package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// VerifyOptions say how logs are verified. The zero value recomputes no ruling.
type VerifyOptions struct {
	Objects string     // directory of the term objects; empty: the nearest terms/objects in or above the path
	Decide  DecideFunc // recomputes a ruling (E82); nil: none is
}

// A Verdict is what verifying came to. Of several the worst holds (E81).
type Verdict string

// Verdicts, from good to worst.
const (
	Sound        Verdict = "sound"          // sound and no gap
	CouldNotTell Verdict = "could_not_tell" // gaps, or something needed is not there
	Unsound      Verdict = "unsound"        // damage, a sum or reference that is wrong, an object untrue to its name, another ruling
)

// Worst returns the worse of v and w. The empty verdict is none.
func (v Verdict) Worst(w Verdict) Verdict {
	rank := map[Verdict]int{"": 0, Sound: 1, CouldNotTell: 2, Unsound: 3}
	if rank[w] > rank[v] {
		return w
	}
	return v
}

// ErrNoLog says that there is no log at a path.
var ErrNoLog = errors.New("there is no log")

// Verify checks the log at path, or all logs and runs of the data directory
// there (E80). It writes nothing, needs no edge, and uses memory in proportion
// to the crossings and edges that are open at once. Logs it cannot open are part
// of the answer; the error is ErrNoLog, the end of ctx, or that of looking for
// logs.
func Verify(ctx context.Context, path string, o VerifyOptions) ([]LogReport, error) {
	places, err := findLogs(path)
	if err != nil {
		return nil, err
	}
	home := homeOf(path)
	objects := newObjectCheck(home.objects(o.Objects))
	reports := make([]LogReport, len(places))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, place := range places {
		group.Go(func() error {
			v := newLogVerifier(place, home, objects, o.Decide)
			err := v.run(ctx)
			reports[i] = v.report
			return err
		})
	}
	return reports, group.Wait()
}

// A logPlace is where a log lies.
type logPlace struct {
	name    string // for the report
	dir     string
	session string // its id, where the directory is that of a session
	file    string // the only file of the log; empty for a session's segments
	run     bool   // summary.json and policy.json are beside it
}

// Files of a run (E70, E71).
const (
	runLogName     = "evidence.jsonl"
	runPolicyName  = "policy.json"
	runSummaryName = "summary.json"
)

// findLogs returns the logs that path means: a data directory's, a run's, a
// session's, or the file of one.
func findLogs(path string) ([]logPlace, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return fileLog(path)
	}
	switch {
	case exists(path, runLogName):
		return []logPlace{{name: path, dir: path, file: runLogName, run: true}}, nil
	case exists(path, "sessions"), exists(path, "runs"):
		return dataLogs(path)
	}
	// What holds neither segments nor anything else of ours is no log.
	if root, err := os.OpenRoot(path); err == nil {
		defer root.Close()
		if numbers, err := listSegments(root); err == nil && len(numbers) > 0 {
			abs, err := filepath.Abs(path)
			return []logPlace{{name: path, dir: path, session: filepath.Base(abs)}}, err
		}
	}
	return nil, fmt.Errorf("%w: %s is no data directory, run or log", ErrNoLog, path)
}

// fileLog is the log that a single file belongs to: a segment is never the whole
// of one.
func fileLog(path string) ([]logPlace, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if highestSegment([]string{name}) > 0 || name == runLogName && exists(dir, runSummaryName) {
		return findLogs(dir)
	}
	return []logPlace{{name: path, dir: dir, file: name}}, nil
}

// dataLogs lists the logs of a data directory: sessions, then published runs.
// What has no name of either is none of ours; a run that is being made begins
// with a dot.
func dataLogs(data string) ([]logPlace, error) {
	var places []logPlace
	for _, kind := range []string{"sessions", "runs"} {
		entries, err := os.ReadDir(filepath.Join(data, kind))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !ValidSession(e.Name()) {
				continue
			}
			p := logPlace{dir: filepath.Join(data, kind, e.Name()), session: e.Name()}
			if p.name = p.dir; kind == "runs" {
				p.session, p.file, p.run = "", runLogName, true
			}
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("%w: no session and no run in %s", ErrNoLog, data)
	}
	return places, nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// A home is the directories in and above a path, nearest first.
type home []string

func homeOf(path string) home {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	var dirs home
	for dir := abs; ; dir = filepath.Dir(dir) {
		if dirs = append(dirs, dir); dir == filepath.Dir(dir) {
			return dirs
		}
	}
}

// nearest returns the nearest directory sub, empty when there is none.
func (h home) nearest(sub string) string {
	for _, dir := range h {
		if info, err := os.Stat(filepath.Join(dir, sub)); err == nil && info.IsDir() {
			return filepath.Join(dir, sub)
		}
	}
	return ""
}

// objects returns where the term objects lie.
func (h home) objects(given string) string {
	if given != "" {
		return given
	}
	return h.nearest(filepath.Join("terms", "objects"))
}

// alive reports whether the edge id runs: it holds the lock of its file in the
// nearest edges/ (E3). One of which that cannot be told may.
func (h home) alive(id string) bool {
	dir := h.nearest("edges")
	if dir == "" || !edgeID.MatchString(id) {
		return false
	}
	alive, _, err := probeEdge(dir, id)
	return alive || err != nil
}
