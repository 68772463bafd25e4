package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/certs"
)

// childDir names the variable by which the test binary, started again, is told
// to open an authority and print its certificate, as an edge would.
const childDir = "CERTS_TEST_OPEN"

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	a, err := certs.Open(dir, certs.Options{})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.Write(a.PEM())
}

// open opens the authority of dir or ends the test.
func open(t testing.TB, dir string, o certs.Options) *certs.Authority {
	t.Helper()
	a, err := certs.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parsePEM(t testing.TB, raw []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(raw)
	if block == nil {
		t.Fatalf("no PEM block in %q", raw)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestN22_ProcessesThatStartTogetherShareOneCA(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "ca")
	const starts = 12
	children := make([]*exec.Cmd, starts)
	out := make([]bytes.Buffer, starts)
	for i := range children {
		children[i] = exec.Command(os.Args[0])
		children[i].Env = append(os.Environ(), childDir+"="+dir)
		children[i].Stdout, children[i].Stderr = &out[i], &out[i]
		if err := children[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatalf("start %d: %v\n%s", i, err, &out[i])
		}
		if !bytes.Equal(out[i].Bytes(), out[0].Bytes()) {
			t.Errorf("start %d has another CA than start 0", i)
		}
	}
	if again := open(t, dir, certs.Options{}); !bytes.Equal(again.PEM(), out[0].Bytes()) {
		t.Error("a later start has another CA")
	}
}

func TestN22_TheCAIsWhatStrictClientsAskFor(t *testing.T) {
	before := time.Now()
	a := open(t, t.TempDir(), certs.Options{})
	ca := parsePEM(t, a.PEM())

	if key, ok := ca.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is %T, want ECDSA on P-256", ca.PublicKey)
	}
	if !ca.IsCA || !ca.BasicConstraintsValid || ca.MaxPathLen != 0 || !ca.MaxPathLenZero {
		t.Errorf("basic constraints: CA %v, path length %d (given: %v), want a CA of path length 0", ca.IsCA, ca.MaxPathLen, ca.MaxPathLenZero)
	}
	if ca.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign {
		t.Errorf("key usage %b, want certificate and CRL signing and nothing else", ca.KeyUsage)
	}
	if len(ca.SubjectKeyId) == 0 {
		t.Error("no subject key identifier")
	}
	if want := ca.NotBefore.AddDate(10, 0, 0); !ca.NotAfter.Equal(want) || ca.NotBefore.After(before) {
		t.Errorf("valid %s to %s, want ten years from a little ago", ca.NotBefore, ca.NotAfter)
	}
	if ca.SerialNumber.Sign() <= 0 || ca.SerialNumber.BitLen() < 64 {
		t.Errorf("serial number %s, want a positive random one", ca.SerialNumber)
	}
	for oid, name := range map[string]string{"2.5.29.19": "basic constraints", "2.5.29.15": "key usage"} {
		if !isCritical(ca, oid) {
			t.Errorf("%s are not critical", name)
		}
	}
}

func isCritical(c *x509.Certificate, oid string) bool {
	for _, e := range c.Extensions {
		if e.Id.String() == oid {
			return e.Critical
		}
	}
	return false
}

func TestN22_FilesAreThereForTheirOwnerOnly(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "data", "ca")
	open(t, dir, certs.Options{})
	for path, want := range map[string]os.FileMode{
		dir: 0o700, filepath.Dir(dir): 0o700,
		filepath.Join(dir, "ca-key.pem"): 0o600, filepath.Join(dir, "ca.pem"): 0o600, filepath.Join(dir, ".lock"): 0o600,
		filepath.Join(dir, "bundle.pem"): 0o600, filepath.Join(dir, "bundle.p12"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
	}
}

func TestN22_ACAThatCannotBeUsedIsAnErrorAndIsNotReplaced(t *testing.T) {
	inElevenYears := func() time.Time { return time.Now().AddDate(11, 0, 0) }
	lastYear := func() time.Time { return time.Now().AddDate(-1, 0, 0) }
	key := func(dir string) string { return filepath.Join(dir, "ca-key.pem") }
	cert := func(dir string) string { return filepath.Join(dir, "ca.pem") }
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string) error
		now   func() time.Time
		says  string // what the operator must be able to read
	}{
		"the group can read the key":       {spoil: func(_ *testing.T, dir string) error { return os.Chmod(key(dir), 0o640) }, says: "chmod 600"},
		"everybody can read the key":       {spoil: func(_ *testing.T, dir string) error { return os.Chmod(key(dir), 0o604) }, says: "chmod 600"},
		"the key is gone":                  {spoil: func(_ *testing.T, dir string) error { return os.Remove(key(dir)) }, says: "put the key back"},
		"the key is no PEM":                {spoil: func(_ *testing.T, dir string) error { return os.WriteFile(key(dir), []byte("secret"), 0o600) }, says: "PKCS #8"},
		"the key is damaged":               {spoil: damage("ca-key.pem"), says: "PKCS #8"},
		"the key is a directory":           {spoil: replaceByDirectory("ca-key.pem"), says: "not a regular file"},
		"the key is a pipe":                {spoil: replaceByPipe("ca-key.pem"), says: "not a regular file"},
		"the key is another CA's":          {spoil: takeFromAnother("ca-key.pem"), says: "not its own"},
		"the certificate is empty":         {spoil: func(_ *testing.T, dir string) error { return os.Truncate(cert(dir), 0) }, says: "CERTIFICATE"},
		"the certificate is damaged":       {spoil: damage("ca.pem"), says: "cannot be used"},
		"the certificate is a directory":   {spoil: replaceByDirectory("ca.pem"), says: "reading the CA certificate"},
		"the certificate has expired":      {now: inElevenYears, says: "expired"},
		"the clock is before its validity": {now: lastYear, says: "clock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, certs.Options{})
			if test.spoil != nil {
				if err := test.spoil(t, dir); err != nil {
					t.Fatal(err)
				}
			}
			keyBefore, certBefore := fileState(key(dir)), fileState(cert(dir))
			_, err := certs.Open(dir, certs.Options{Now: test.now})
			if err == nil {
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %q does not say %q", err, test.says)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q quotes the key file", err)
			}
			if fileState(key(dir)) != keyBefore || fileState(cert(dir)) != certBefore {
				t.Error("a file of the CA was changed")
			}
		})
	}
}

// fileState is what a test compares to see that a file was left alone.
func fileState(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "no file"
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return info.Mode().String() + string(raw)
}

func damage(name string) func(*testing.T, string) error {
	return func(_ *testing.T, dir string) error {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(raw)
		block.Bytes = block.Bytes[:len(block.Bytes)/2]
		return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
	}
}

func replaceByDirectory(name string) func(*testing.T, string) error {
	return func(_ *testing.T, dir string) error {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Mkdir(path, 0o700)
	}
}

func replaceByPipe(name string) func(*testing.T, string) error {
	return func(_ *testing.T, dir string) error {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			return err
		}
		return syscall.Mkfifo(path, 0o600)
	}
}

func takeFromAnother(name string) func(*testing.T, string) error {
	return func(t *testing.T, dir string) error {
		other := t.TempDir()
		open(t, other, certs.Options{})
		return os.Rename(filepath.Join(other, name), filepath.Join(dir, name))
	}
}

// A start that died between the key and the certificate leaves a key that no
// client can trust yet.
func TestN22_AStartThatWasCutShortIsFinishedByTheNext(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, certs.Options{})
	keyBefore := fileState(filepath.Join(dir, "ca-key.pem"))
	if err := os.Remove(filepath.Join(dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	a := open(t, dir, certs.Options{})
	if fileState(filepath.Join(dir, "ca-key.pem")) != keyBefore {
		t.Error("the key was replaced")
	}
	if _, err := a.Leaf("a.example"); err != nil {
		t.Error(err)
	}
}

func TestN22_FilesThatAnAuthorityNamesHoldItsCertificate(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	raw, err := os.ReadFile(a.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, a.PEM()) {
		t.Error("CAFile holds another certificate than PEM returns")
	}
	if bytes.Contains(raw, []byte("PRIVATE")) {
		t.Error("CAFile holds a key")
	}
}
