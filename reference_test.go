package wayleave_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// buildCommand builds the command once for all tests of this package, which
// compare what it says of itself with the documentation.
var buildCommand = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "wayleave-docs-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "wayleave")
	out, err := exec.Command("go", "build", "-o", binary, "./cmd/wayleave").CombinedOutput()
	if err != nil {
		return "", &buildError{err, string(out)}
	}
	return binary, nil
})

type buildError struct {
	err    error
	output string
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + e.output }

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := buildCommand(); err == nil {
		os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// help returns what `wayleave ARGS` prints when it is asked for help.
func help(t *testing.T, args ...string) string {
	t.Helper()
	binary, err := buildCommand()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		t.Fatalf("wayleave %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func TestEveryConfigurationKeyIsDocumentedWithItsDefault(t *testing.T) {
	inCode := map[string]string{}
	row := regexp.MustCompile(`(?m)^([a-z_.]+)  +WAYLEAVE_[A-Z_]+  +(.+?)  +\S`)
	for _, m := range row.FindAllStringSubmatch(help(t, "help", "configuration"), -1) {
		inCode[m[1]] = m[2]
	}
	inDocs := map[string]string{}
	row = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| (.*?) \\|")
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		if _, twice := inDocs[m[1]]; twice {
			t.Errorf("docs/configuration.md has %s twice", m[1])
		}
		inDocs[m[1]] = strings.Trim(m[2], "`")
	}
	if len(inCode) < 10 {
		t.Fatalf("found only %d keys in the help text", len(inCode))
	}
	for key, def := range inCode {
		if got, ok := inDocs[key]; !ok {
			t.Errorf("docs/configuration.md lacks the key %s", key)
		} else if got != def {
			t.Errorf("docs/configuration.md gives %s the default %q, the code %q", key, got, def)
		}
	}
	for key := range inDocs {
		if _, ok := inCode[key]; !ok {
			t.Errorf("docs/configuration.md has the key %s, which the code does not know", key)
		}
	}
}

var (
	subcommands = regexp.MustCompile(`(?s)\nAvailable Commands:\n(.*?)\n\n`)
	commandRow  = regexp.MustCompile(`(?m)^  ([a-z]+) `)
	flagName    = regexp.MustCompile(`--[a-z][a-z-]*`)
	flagRow     = regexp.MustCompile(`(?m)^ +(?:-[a-z], )?(--[a-z][a-z-]*)`)
)

// commands returns the flags of every command by its name, from the help texts.
func commands(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	var walk func(words []string)
	walk = func(words []string) {
		text := help(t, append(slices.Clone(words), "--help")...)
		if _, listed, ok := strings.Cut(text, "\nFlags:\n"); ok {
			for _, m := range flagRow.FindAllStringSubmatch(listed, -1) {
				if m[1] != "--help" {
					all[strings.Join(words, " ")] = append(all[strings.Join(words, " ")], m[1])
				}
			}
		}
		list := subcommands.FindStringSubmatch(text)
		if list == nil {
			all[strings.Join(words, " ")] = append([]string{}, all[strings.Join(words, " ")]...)
			return
		}
		for _, m := range commandRow.FindAllStringSubmatch(list[1], -1) {
			// cobra's own, and a topic that is documented by itself.
			if m[1] != "help" && m[1] != "completion" && m[1] != "configuration" {
				walk(append(slices.Clone(words), m[1]))
			}
		}
	}
	walk(nil)
	delete(all, "")
	return all
}

// documented returns the sections of docs/commands.md by their command.
func documented(t *testing.T) map[string]string {
	t.Helper()
	sections := map[string]string{}
	for section := range strings.SplitSeq(read(t, "docs/commands.md"), "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		if name, ok := strings.CutPrefix(strings.Trim(title, "`"), "wayleave "); ok {
			sections[name] = body
		}
	}
	return sections
}

func TestEveryCommandAndFlagIsDocumented(t *testing.T) {
	inCode, inDocs := commands(t), documented(t)
	if len(inCode) < 5 {
		t.Fatalf("found only %d commands in the help texts", len(inCode))
	}
	for name, flags := range inCode {
		section, ok := inDocs[name]
		if !ok {
			t.Errorf("docs/commands.md lacks the command %q", name)
			continue
		}
		mentioned := flagName.FindAllString(section, -1)
		for _, f := range flags {
			if !slices.Contains(mentioned, f) {
				t.Errorf("docs/commands.md does not mention %s of %q", f, name)
			}
		}
		for _, f := range mentioned {
			if !slices.Contains(flags, f) {
				t.Errorf("docs/commands.md gives %q the flag %s, which it has not", name, f)
			}
		}
	}
	for name := range inDocs {
		if _, ok := inCode[name]; !ok {
			t.Errorf("docs/commands.md has the command %q, which does not exist", name)
		}
	}
}

// A fence in the README whose info string is "sh ci" is run by .ci/run.
var fence = regexp.MustCompile("(?ms)^```(sh[^\n]*)\n(.*?)^```$")

func TestTheReadmeNamesOnlyCommandsThatExist(t *testing.T) {
	inCode := commands(t)
	known := slices.Collect(maps.Keys(inCode))
	word := regexp.MustCompile(`(?:\bwayleave|\./cmd/wayleave) ([a-z]+)(?: ([a-z]+))?`)
	marked := 0
	for _, f := range fence.FindAllStringSubmatch(read(t, "README.md"), -1) {
		if strings.HasPrefix(f[1], "sh ci") {
			marked++
		}
		for _, m := range word.FindAllStringSubmatch(f[2], -1) {
			if !slices.Contains(known, m[1]) && !slices.Contains(known, m[1]+" "+m[2]) && m[1] != "help" && m[1] != "completion" {
				t.Errorf("README.md runs wayleave %s, which is no command", m[1])
			}
		}
	}
	if marked == 0 {
		t.Error("no fence of README.md is marked for CI")
	}
}
