package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// Bounds of reading the folder in which the book of terms keeps what origins said
// (terms T14).
const (
	namesAtOnce    = 512
	originMaxFile  = 256 << 10
	readableOctets = 40 // of a name that is hashed
)

// originsDir is where the book keeps a file for each origin that was asked.
func originsDir(data string) string { return filepath.Join(termsDir(data), "origins") }

// eachOrigin calls each with the origins that have a file in dir and for which
// wanted is true of the file's name, in no order, until each answers false. The
// files of most origins are not opened: their names tell them.
func eachOrigin(ctx context.Context, dir string, wanted func(name string) bool, each func(hostkey.Origin) bool) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, file := range names {
			name, ok := strings.CutSuffix(file, ".json")
			if !ok || !wanted(name) {
				continue
			}
			if o, ok := originOf(dir, name); ok && !each(o) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// originOf returns the origin whose file in dir has this name, without extension.
// Names of long hosts and of such as have an underscore are hashed; then the file
// tells.
func originOf(dir, name string) (hostkey.Origin, bool) {
	if o, ok := originNamed(name); ok {
		return o, true
	}
	path := filepath.Join(dir, name+".json")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return hostkey.Origin{}, false // a pipe would be waited for
	}
	f, err := os.Open(path)
	if err != nil {
		return hostkey.Origin{}, false
	}
	defer f.Close()
	var said struct{ Origin string }
	if json.NewDecoder(io.LimitReader(f, originMaxFile)).Decode(&said) != nil {
		return hostkey.Origin{}, false
	}
	scheme, authority, _ := strings.Cut(said.Origin, "://")
	o, err := hostkey.ParseOrigin(scheme, authority)
	return o, err == nil && o.FileKey() == name
}

// originNamed undoes Origin.FileKey where the key is readable.
func originNamed(name string) (hostkey.Origin, bool) {
	o := hostkey.Origin{Scheme: "https", Host: name, Port: 443}
	if host, rest, ok := strings.Cut(name, "_"); ok {
		scheme, port, _ := strings.Cut(rest, "_")
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return hostkey.Origin{}, false
		}
		o = hostkey.Origin{Scheme: scheme, Host: host, Port: uint16(n)}
	}
	again, err := hostkey.ParseOrigin(o.Scheme, o.Authority())
	return o, err == nil && again == o && o.FileKey() == name
}

// maxHostOrigins bounds the origins of one host that are told: it has as many as
// ports.
const maxHostOrigins = 32

// originsOf returns the origins of host that have a file in dir: https before
// http, and by port.
func originsOf(ctx context.Context, dir, host string) ([]hostkey.Origin, error) {
	// What all names of host's origins begin with, hashed or not.
	begins := strings.Map(func(r rune) rune {
		if r == '_' || r == ':' {
			return '_'
		}
		return r
	}, host[:min(len(host), readableOctets)])
	var origins []hostkey.Origin
	err := eachOrigin(ctx, dir, func(name string) bool { return strings.HasPrefix(name, begins) }, func(o hostkey.Origin) bool {
		if o.Host == host {
			origins = append(origins, o)
		}
		return len(origins) < maxHostOrigins
	})
	slices.SortFunc(origins, func(a, b hostkey.Origin) int {
		if a.Scheme != b.Scheme {
			return strings.Compare(b.Scheme, a.Scheme)
		}
		return int(a.Port) - int(b.Port)
	})
	return origins, err
}
