package wayleave_test

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// An instruction is one line of a Dockerfile, continued lines joined.
type instruction struct {
	word string // in capitals
	args string
}

// A stage is one FROM and what follows it.
type stage struct {
	base, name   string
	instructions []instruction
}

// all returns the arguments of every instruction of the stage with that word.
func (s stage) all(word string) []string {
	var out []string
	for _, in := range s.instructions {
		if in.word == word {
			out = append(out, in.args)
		}
	}
	return out
}

// one returns the arguments of the only instruction with that word.
func (s stage) one(t *testing.T, word string) string {
	t.Helper()
	all := s.all(word)
	if len(all) != 1 {
		t.Fatalf("the stage %s has %d of %s, want one", s.base, len(all), word)
	}
	return all[0]
}

// execForm reads the exec form of an instruction. The shell form needs a shell,
// which the image has not, and hides signals from the process.
func execForm(t *testing.T, args string) []string {
	t.Helper()
	var words []string
	if err := json.Unmarshal([]byte(args), &words); err != nil {
		t.Fatalf("%q is not in exec form: %v", args, err)
	}
	return words
}

// dockerfile parses the Dockerfile of the image.
func dockerfile(t *testing.T) []stage {
	t.Helper()
	var stages []stage
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		word, args, _ := strings.Cut(l, " ")
		in := instruction{strings.ToUpper(word), strings.TrimSpace(args)}
		if in.word == "FROM" {
			f := strings.Fields(in.args)
			s := stage{base: f[0]}
			if len(f) == 3 && strings.EqualFold(f[1], "AS") {
				s.name = f[2]
			}
			stages = append(stages, s)
			continue
		}
		if len(stages) == 0 {
			t.Fatalf("%s stands before the first FROM", in.word)
		}
		last := &stages[len(stages)-1]
		last.instructions = append(last.instructions, in)
	}
	if len(stages) != 2 {
		t.Fatalf("the Dockerfile has %d stages, want a builder and the image", len(stages))
	}
	return stages
}

func TestTheImageIsBuiltWithTheGoVersionOfTheModule(t *testing.T) {
	required := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if base := dockerfile(t)[0].base; base != "golang:"+required[1] {
		t.Errorf("the builder is %s, go.mod requires %s", base, required[1])
	}
}

func TestTheImageHoldsTheBinaryTheRootsAndNothingElse(t *testing.T) {
	stages := dockerfile(t)
	build, image := stages[0], stages[1]
	if image.base != "scratch" {
		t.Errorf("the image is made from %s, want scratch", image.base)
	}
	want := []string{"/etc/ssl/certs/ca-certificates.crt", "/var/lib/wayleave", "/wayleave"}
	var got []string
	for _, args := range image.all("COPY") {
		f := strings.Fields(args)
		if !slices.Contains(f, "--from="+build.name) {
			t.Errorf("COPY %s: the image takes files from the build stage only", args)
		}
		got = append(got, f[len(f)-1])
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the image holds %q, want %q", got, want)
	}
	for _, word := range []string{"ADD", "RUN"} {
		if len(image.all(word)) > 0 {
			t.Errorf("the image uses %s", word)
		}
	}
	if runs := strings.Join(build.all("RUN"), "\n"); !strings.Contains(runs, "CGO_ENABLED=0 go build -trimpath") {
		t.Errorf("the binary is not built static and without paths of the builder: %s", runs)
	}
}

// N22: what is in an image is known to everybody who has the image.
func TestN22_NoKeyAndNoSecretIsBakedIntoTheImage(t *testing.T) {
	suspect := regexp.MustCompile(`(?i)secret|token=|password|private|ca-key|[a-z-]+\.p12`)
	for _, s := range dockerfile(t) {
		for _, in := range s.instructions {
			if m := suspect.FindString(in.args); m != "" {
				t.Errorf("%s %s mentions %q", in.word, in.args, m)
			}
		}
	}
	ignored := strings.Split(read(t, ".dockerignore"), "\n")
	for _, want := range []string{".git", "data", "**/*.pem", "**/*.p12", "**/admin.token", "**/credentials.json", "**/redact.key"} {
		if !slices.Contains(ignored, want) {
			t.Errorf(".dockerignore lets %s into the build", want)
		}
	}
}

func TestTheImageRunsWithoutPrivilegesAndKeepsItsData(t *testing.T) {
	image := dockerfile(t)[1]
	if user := image.one(t, "USER"); !regexp.MustCompile(`^[1-9]\d{3,}:[1-9]\d{3,}$`).MatchString(user) {
		t.Errorf("USER is %s, want a number that is not root's: scratch has no user names", user)
	}
	if v := image.one(t, "VOLUME"); v != "/var/lib/wayleave" {
		t.Errorf("VOLUME is %s", v)
	}
	if entry := execForm(t, image.one(t, "ENTRYPOINT")); !slices.Equal(entry, []string{"/wayleave"}) {
		t.Errorf("ENTRYPOINT is %q", entry)
	}
	if cmd := execForm(t, image.one(t, "CMD")); !slices.Equal(cmd, []string{"serve"}) {
		t.Errorf("CMD is %q", cmd)
	}
	_, check, _ := strings.Cut(image.one(t, "HEALTHCHECK"), "CMD ")
	if health := execForm(t, check); !slices.Equal(health, []string{"/wayleave", "doctor", "--health"}) {
		t.Errorf("HEALTHCHECK runs %q", health)
	}
	env := strings.Join(image.all("ENV"), " ")
	if !strings.Contains(env, "WAYLEAVE_DATA=/var/lib/wayleave") || !strings.Contains(env, "WAYLEAVE_AUTH=token") {
		t.Errorf("ENV is %s: the data belongs in the volume, and a listener beyond loopback needs credentials (N20)", env)
	}
}

// A compose is what this test reads of the example.
type compose struct {
	Services map[string]struct {
		Networks    any      `yaml:"networks"`
		NetworkMode string   `yaml:"network_mode"`
		Volumes     []string `yaml:"volumes"`
		Ports       []string `yaml:"ports"`
		CapAdd      []string `yaml:"cap_add"`
		Privileged  bool     `yaml:"privileged"`
	} `yaml:"services"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
}

// Case C06: a client that ignores the proxy has no route, and none of them sees
// the CA's key.
func TestC06_TheSandboxHasOneWayOutAndOneHolderOfTheKey(t *testing.T) {
	const dir = "docs/examples/sandbox"
	var c compose
	if err := yaml.Unmarshal([]byte(read(t, path.Join(dir, "compose.yaml"))), &c); err != nil {
		t.Fatal(err)
	}
	if !c.Networks["agents"].Internal || c.Networks["outside"].Internal {
		t.Error("the agents' network must be internal, the edge's other one not")
	}
	if len(c.Services) < 3 {
		t.Fatalf("the example has %d services", len(c.Services))
	}
	for name, s := range c.Services {
		networks, _ := s.Networks.([]any)
		if name != "edge" && s.NetworkMode != "none" && (len(networks) != 1 || networks[0] != "agents") {
			t.Errorf("%s is on %v: only the edge may leave the internal network", name, s.Networks)
		}
		if len(s.Ports) > 0 || len(s.CapAdd) > 0 || s.Privileged {
			t.Errorf("%s publishes ports or has privileges", name)
		}
		for _, v := range s.Volumes {
			if strings.HasPrefix(v, "state:") && name != "edge" && (s.NetworkMode != "none" || !strings.HasSuffix(v, ":ro")) {
				t.Errorf("%s mounts %s, which holds the CA's key", name, v)
			}
		}
	}
}
