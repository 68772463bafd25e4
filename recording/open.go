package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
	"golang.org/x/sys/unix"
)

// Open reads the recording in dir and checks every file that it names. requires are
// hosts for which there must be a recording. If anything is amiss the error is a
// *FaultsError with every fault there is. Nothing is written, and memory does not
// grow with the files. Whoever opens it closes it.
func Open(dir string, requires []string) (*Recording, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &FaultsError{dir, []Fault{{File: manifestName, What: "the directory cannot be opened: " + reason(err)}}}
	}
	r := &Recording{root: root, queues: map[key][]int{}}
	faults := r.load()
	if faults == nil || len(r.all) > 0 { // a host that nobody could read is not missing
		faults = append(faults, r.missing(requires)...)
	}
	if len(faults) > 0 {
		root.Close()
		return nil, &FaultsError{dir, faults}
	}
	for i, x := range r.all {
		r.queues[x.key()] = append(r.queues[x.key()], i)
		r.uses = append(r.uses, Use{Exchange: x})
	}
	return r, nil
}

// load reads the manifest and checks the files.
func (r *Recording) load() []Fault {
	f, err := openRegular(r.root, manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return []Fault{{File: manifestName, What: "it is missing: there is no recording here, or one that was not finished"}}
	}
	if err != nil {
		return []Fault{{File: manifestName, What: reason(err)}}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("it is longer than %d octets", maxManifest)
	}
	if err != nil {
		return []Fault{{File: manifestName, What: reason(err)}}
	}
	r.digest = digest(text)
	var faults []Fault
	r.all, faults = parseManifest(text)
	sums := map[string]summed{}
	for _, x := range r.all {
		faults = append(faults, r.check(x, sums)...)
	}
	return faults
}

// A summed is what a file was found to hold.
type summed struct {
	sum  string
	size int64
	err  error
}

// check compares the files of x with what the manifest says of them.
func (r *Recording) check(x Exchange, sums map[string]summed) (faults []Fault) {
	for _, half := range []struct {
		file, want string
		size       int64
	}{{x.Head, x.HeadSHA256, -1}, {x.Body, x.BodySHA256, x.BodyBytes}} {
		if !localPath(half.file) || !digestForm.MatchString(half.want) {
			continue // the manifest's fault, which was told of
		}
		f := Fault{File: half.file, N: x.N, Method: x.Method, Host: x.Host()}
		got, known := sums[half.file]
		if !known {
			got = sumFile(r.root, half.file)
			sums[half.file] = got
		}
		switch {
		case errors.Is(got.err, fs.ErrNotExist):
			f.What = "it is missing"
		case got.err != nil:
			f.What = reason(got.err)
		case got.sum != half.want:
			f.What, f.Want, f.Got = "its hash differs", half.want, got.sum
		case half.size >= 0 && got.size != half.size:
			f.What = fmt.Sprintf("it has %d octets, and the manifest says %d", got.size, half.size)
		case half.size < 0:
			if _, err := r.head(x); err != nil {
				f.What = reason(err)
			}
		}
		if f.What != "" {
			faults = append(faults, f)
		}
	}
	return faults
}

func sumFile(root *os.Root, name string) summed {
	f, err := openRegular(root, name)
	if err != nil {
		return summed{err: err}
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return summed{"sha256:" + hex.EncodeToString(h.Sum(nil)), n, err}
}

var (
	errLink       = errors.New("it is a symbolic link, or behind one")
	errNotRegular = errors.New("it is not a regular file")
)

// openRegular opens the regular file name, to which no symbolic link leads. os.Root
// alone would follow links that stay inside.
func openRegular(root *os.Root, name string) (*os.File, error) {
	var seen fs.FileInfo
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		var err error
		switch seen, err = root.Lstat(name[:i]); {
		case err != nil:
			return nil, err
		case seen.Mode()&fs.ModeSymlink != 0:
			return nil, errLink
		}
	}
	if !seen.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(seen, now) {
		f.Close()
		return nil, errors.Join(err, errNotRegular)
	}
	return f, nil
}

// reason returns err without the path, which a fault names in its own form.
func reason(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Op + ": " + of.Err.Error()
	}
	return err.Error()
}

// missing returns a fault for each host of requires that has no exchange.
func (r *Recording) missing(requires []string) (faults []Fault) {
	hosts := map[string]bool{}
	for _, x := range r.all {
		if k, err := hostkey.Key(x.Host()); err == nil {
			hosts[k] = true
		}
	}
	for _, host := range requires {
		k, err := hostkey.Key(strings.TrimSpace(host))
		if err != nil || !hosts[k] {
			faults = append(faults, Fault{File: manifestName, Host: host, What: "there is no recording of " + host + ", which is required"})
		}
	}
	return faults
}
