package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// hostsOf returns the hosts that the store in dir lists, sorted.
func hostsOf(t *testing.T, dir string) (hosts []string) {
	t.Helper()
	for host, err := range backoff.NewFileStore(dir, backoff.FileOptions{}).Hosts(t.Context()) {
		must(t, err)
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return hosts
}

func TestP34_HostsAreListedByTheirKeys(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + ".test"
	want := []string{"::1", "127.0.0.1", "a.json", "example.test", long, "xn--bcher-kva.test"}
	slices.Sort(want)
	store := backoff.NewFileStore(dir, backoff.FileOptions{})
	for _, host := range want {
		_, err := store.Answered(t.Context(), host, backoff.Answer{Status: 503, RetryAfter: []string{"60"}})
		must(t, err)
	}
	if diff := cmp.Diff(want, hostsOf(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestP34_WhatIsNoStateIsNotListed(t *testing.T) {
	dir := t.TempDir()
	long := backoff.FileName(strings.Repeat("a", 120))
	for name, text := range map[string]string{
		"known.test.json":        "damaged",                   // its name tells the host, and a look says what is wrong
		"known.test.lock":        "",                          // a lock alone binds nothing
		"other.test.lock":        "",                          //
		"dying.test.json.tmp":    "{}",                        // of a process that died
		"UPPER.json":             "{}",                        // no key has capitals
		"bad%2.json":             "{}",                        // half an escape
		"bad%zz.json":            "{}",                        // none
		"%41.json":               "{}",                        // an escape of what needs none
		long + ".json":           "damaged",                   // nothing tells the host
		long[:104] + "z.json":    "{}",                        // none in it
		"notes.txt":              "",                          //
		"sub.test.json.d/x.json": "",                          // below
		long[:103] + "yz.json":   `{"host":"elsewhere.test"}`, // whose file has another name
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if diff := cmp.Diff([]string{"known.test"}, hostsOf(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestP38_AMissingDirectoryHasNoHosts(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, name := range []string{"none", "file"} {
		if hosts := hostsOf(t, filepath.Join(dir, name)); len(hosts) > 0 {
			t.Errorf("%s: %q", name, hosts)
		}
	}
}

func TestP46_AListThatCannotBeMadeSaysWhy(t *testing.T) {
	many := t.TempDir()
	for i := range 3 {
		must(t, os.WriteFile(filepath.Join(many, fmt.Sprintf("%d.test.json", i)), nil, 0o600))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	list := func(ctx context.Context, store *backoff.FileStore) (found []string, err error) {
		for host, fault := range store.Hosts(ctx) {
			if fault != nil {
				err = fault
				continue
			}
			found = append(found, host)
		}
		return found, err
	}
	if found, err := list(ended, backoff.NewFileStore(many, backoff.FileOptions{})); !errors.Is(err, context.Canceled) || len(found) > 0 {
		t.Errorf("a caller that left gets %q, %v", found, err)
	}
	fault, ok := errors.AsType[*backoff.StoreError](lastError(list(t.Context(), backoff.NewFileStore(many, backoff.FileOptions{FS: unlisted{backoff.Disk(many)}}))))
	if !ok || !errors.Is(fault, errors.ErrUnsupported) {
		t.Errorf("files that cannot be listed give %v", fault)
	}
	for range backoff.NewFileStore(many, backoff.FileOptions{}).Hosts(t.Context()) {
		break // a caller that has enough is asked no more
	}
}

// unlisted is an FS that cannot tell its files.
type unlisted struct{ backoff.FS }

func lastError(_ []string, err error) error { return err }

// A list neither locks nor writes.
func TestP45_AListChangesNothing(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, failing(0))
	before := snapshot(t, dir)
	hostsOf(t, dir)
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Error(diff)
	}
}
