package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// A source is everything a configuration is made from. It is kept, so that a
// reload reads the same places again.
type source struct {
	file   string              // path of the file; empty for none
	getenv func(string) string // an empty variable counts as not set
	flags  map[string]string   // values of flags that were given, by key
	read   func(string) ([]byte, error)
	draft  []byte // in place of the file's section policy, as parseDraft takes it; nil: none
}

// load makes a configuration: flags win over the environment, that over the
// file, that over the defaults (A20). The error is faults when anything outside
// the section policy is wrong. A policy that does not load is no error: the
// configuration then holds no policy and says why (O3).
func (s source) load() (*config, error) {
	c := newConfig(s.file)
	var all faults
	file := func() ([]setting, faults) { return s.fileSettings(c) }
	for _, read := range []func() ([]setting, faults){s.defaults, file, s.envSettings, s.flagSettings} {
		settings, found := read()
		all = append(all, found...)
		all = all.with(c.apply(settings))
	}
	if !all.under("auth") {
		all = append(all, c.checkTenancy()...)
		all = all.with(c.checkSessions())
	}
	all = all.with(c.checkPolicy())
	all.sort()
	policy, rest := all.split()
	if len(rest) > 0 {
		return nil, all
	}
	if c.policyFaults = policy; len(policy) > 0 {
		c.policy = nil
	}
	return c, nil
}

func newConfig(file string) *config {
	return &config{file: file, written: map[string][]string{}, writtenAt: map[string]position{}, policyAt: map[string]position{}}
}

// fileSettings reads the file, and notes in c when nothing stands in it.
func (s source) fileSettings(c *config) (settings []setting, found faults) {
	if s.file != "" {
		text, err := s.read(s.file)
		if err != nil {
			return nil, faults{{position{source: s.file}, "", "cannot be read: " + reason(err), true}}
		}
		settings, found = parseConfig(s.file, text)
		root, ok := newFileReader(s.file).document(text)
		c.blank = ok && root == nil
	}
	if s.draft != nil {
		settings, found = withDraft(settings, found, s.draft)
	}
	return settings, found
}

// reason is what the system says of a failed file operation, without repeating
// the path.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (s source) defaults() ([]setting, faults) {
	return layer(func(k *configKey) (string, position, bool) {
		def := k.def
		if k.name == "data" {
			def = defaultData(s.getenv)
		}
		return def, position{source: "default"}, def != ""
	})
}

func (s source) envSettings() ([]setting, faults) {
	return layer(func(k *configKey) (string, position, bool) {
		v := s.getenv(k.variable())
		return v, position{source: k.variable()}, v != ""
	})
}

func (s source) flagSettings() ([]setting, faults) {
	return layer(func(k *configKey) (string, position, bool) {
		v, given := s.flags[k.name]
		return v, position{source: "command line"}, given
	})
}

// layer makes settings of the keys that get has a value for, with the place
// where it was written.
func layer(get func(*configKey) (value string, at position, given bool)) ([]setting, faults) {
	var settings []setting
	var found faults
	for i := range configKeys {
		k := &configKeys[i]
		if v, at, given := get(k); given {
			made, wrong := k.written(v, at)
			settings, found = append(settings, made...), append(found, wrong...)
		}
	}
	return settings, found
}

// written makes the setting of a value in the environment's form: a list is
// parted by commas, and blanks round them do not count. Only a list of mappings,
// which is JSON, can have a fault of form; items of one text may stand as in any list.
func (k *configKey) written(v string, at position) ([]setting, faults) {
	if k.form == formRecords && (k.short == "" || strings.HasPrefix(v, "[")) {
		return k.writtenRecords(v, at)
	}
	s := setting{key: k, at: at, values: []string{v}, places: map[string]position{k.name: at}}
	if !k.list() {
		if k.form == formSize && v != "" && strings.Trim(v, "0123456789") == "" {
			s.values[0] += "B"
		}
		return []setting{s}, nil
	}
	s.values = nil
	for i, part := range strings.Split(v, ",") {
		part = strings.TrimSpace(part)
		if k.short != "" {
			part = itemText(map[string]any{k.short: part})
		}
		s.values = append(s.values, part)
		s.places[fmt.Sprintf("%s[%d]", k.name, i)] = at
	}
	return []setting{s}, nil
}

// defaultData is the data directory where none is named: the XDG base directory
// specification says where state belongs and what holds without the variable.
func defaultData(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "wayleave")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "wayleave")
	}
	return "/var/lib/wayleave"
}

// apply sets each setting and returns the faults of values.
func (c *config) apply(settings []setting) faults {
	var found faults
	for _, s := range settings {
		c.remember(s)
		for _, err := range each(s.key.set(c, s.values)) {
			f := fault{s.at, s.key.name, err.Error(), true}
			var one *itemError
			if errors.As(err, &one) {
				f.key = fmt.Sprintf("%s[%d]", s.key.name, one.index)
				f.at = cmp.Or(s.places[f.key], s.at)
			}
			found = append(found, f)
		}
	}
	return found
}

// each parts what errors.Join joined.
func each(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// remember keeps what was written for a key, and of a policy key where each item
// and each value in it stands, in place of what an earlier layer had.
func (c *config) remember(s setting) {
	c.written[s.key.name], c.writtenAt[s.key.name] = s.values, s.at
	if !inPolicy(s.key.name) {
		return
	}
	maps.DeleteFunc(c.policyAt, func(k string, _ position) bool {
		return k == s.key.name || strings.HasPrefix(k, s.key.name+"[")
	})
	maps.Copy(c.policyAt, s.places)
}

// checkTenancy refuses parties that cannot be told apart (P33): where any user
// name is taken, each could learn what is kept for another by taking its name.
func (c *config) checkTenancy() faults {
	written := c.written["auth"]
	if !c.shared || c.auth == authToken || len(written) != 1 || written[0] != string(c.auth) { // the last is a fault of its own
		return nil
	}
	return faults{{c.writtenAt["tenancy"], "tenancy", fmt.Sprintf("shared needs auth: token, but auth is %s (%s)", c.auth, c.writtenAt["auth"]), false}}
}
