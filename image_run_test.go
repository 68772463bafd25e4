//go:build image

package wayleave_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A container is the final stage of the Dockerfile laid out in a directory. A
// process in it sees that directory and nothing else, as the image's user, which
// is what of a container matters here; making it needs root.
type container struct {
	root     string
	env      []string
	uid, gid uint32
}

// buildImage carries the Dockerfile's stages out by hand, instruction by
// instruction, where there is no engine to do it.
func buildImage(t *testing.T) container {
	t.Helper()
	stages := dockerfile(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range stages[0].all("RUN") {
		run := exec.Command("sh", "-ec", args)
		run.Env = append(os.Environ(), "OUT="+out)
		if output, err := run.CombinedOutput(); err != nil {
			t.Fatalf("RUN %s: %v\n%s", args, err, output)
		}
	}
	c := container{root: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range stages[1].all("COPY") {
		c.copy(t, out, strings.Fields(args))
	}
	for _, args := range stages[1].all("ENV") {
		c.env = append(c.env, strings.Fields(args)...)
	}
	c.uid, c.gid = owner(t, stages[1].one(t, "USER"))
	return c
}

// owner parses a numeric uid:gid.
func owner(t *testing.T, s string) (uid, gid uint32) {
	t.Helper()
	u, g, _ := strings.Cut(s, ":")
	un, errU := strconv.ParseUint(u, 10, 32)
	gn, errG := strconv.ParseUint(g, 10, 32)
	if errU != nil || errG != nil {
		t.Fatalf("%q is not uid:gid", s)
	}
	return uint32(un), uint32(gn)
}

// copy carries out one COPY --from=build [--chown=UID:GID] SOURCE TARGET. What
// the builder did not make is part of its base image, here of this machine.
func (c container) copy(t *testing.T, out string, words []string) {
	t.Helper()
	var uid, gid uint32
	for strings.HasPrefix(words[0], "--") {
		if own, ok := strings.CutPrefix(words[0], "--chown="); ok {
			uid, gid = owner(t, own)
		}
		words = words[1:]
	}
	source, target := words[0], filepath.Join(c.root, words[1])
	if rest, ok := strings.CutPrefix(source, "/out/"); ok {
		source = filepath.Join(out, rest)
	}
	info, err := os.Stat(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.Mkdir(target, info.Mode().Perm())
	} else {
		var content []byte
		if content, err = os.ReadFile(source); err == nil {
			err = os.WriteFile(target, content, info.Mode().Perm())
		}
	}
	if err == nil {
		err = os.Lchown(target, int(uid), int(gid))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command is a process in the container. The listeners take free ports, because
// the container shares this machine's.
func (c container) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	return &exec.Cmd{
		Path: args[0], Args: args, Dir: "/", Stdout: &out, Stderr: &out,
		Env:         append(c.env, "WAYLEAVE_LISTEN=0.0.0.0:0", "WAYLEAVE_ADMIN_LISTEN=127.0.0.1:0"),
		SysProcAttr: &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}},
	}, &out
}

// files lists what is in the container, with the owner and mode of each.
func (c container) files(t *testing.T) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	err := filepath.Walk(c.root, func(name string, info fs.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files[strings.TrimPrefix(name, c.root)] = info
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestN22_TheImageStartsFromNothingAndMakesItsOwnCA(t *testing.T) {
	c := buildImage(t)
	image := dockerfile(t)[1]
	shipped := c.files(t)

	version, out := c.command("/wayleave", "version")
	if err := version.Run(); err != nil {
		t.Fatalf("version: %v\n%s", err, out)
	}
	serve, log := c.command(append(execForm(t, image.one(t, "ENTRYPOINT")), execForm(t, image.one(t, "CMD"))...)...)
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	defer serve.Process.Kill()
	_, check, _ := strings.Cut(image.one(t, "HEALTHCHECK"), "CMD ")
	c.awaitHealthy(t, execForm(t, check), ended, log)

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log)
	}
	c.checkData(t, shipped)
}

// awaitHealthy runs the image's health check until it holds.
func (c container) awaitHealthy(t *testing.T, check []string, ended chan error, log *bytes.Buffer) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		health, out := c.command(check...)
		if health.Run() == nil {
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("the edge ended: %v\n%s", err, log)
		case <-deadline:
			t.Fatalf("not healthy: %s", out)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkData looks at what a run left: the CA's key, its owner's alone, and
// nothing outside the volume.
func (c container) checkData(t *testing.T, shipped map[string]fs.FileInfo) {
	t.Helper()
	left := c.files(t)
	const volume = "/var/lib/wayleave/"
	for name, info := range left {
		if shipped[name] == nil && !strings.HasPrefix(name, volume) {
			t.Errorf("%s was written outside the volume", name)
		}
		if strings.HasPrefix(name, volume) && (info.Mode().Perm()&0o077 != 0 || info.Sys().(*syscall.Stat_t).Uid != c.uid) {
			t.Errorf("%s has mode %04o and owner %d", name, info.Mode().Perm(), info.Sys().(*syscall.Stat_t).Uid)
		}
	}
	if left[volume+"ca/ca-key.pem"] == nil {
		t.Error("no CA was made in the volume")
	}
}
