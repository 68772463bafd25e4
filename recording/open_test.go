package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// faultsOf opens a recording and returns its faults, one a line.
func faultsOf(t *testing.T, dir string, requires ...string) string {
	t.Helper()
	r, err := Open(dir, requires)
	var faults *FaultsError
	if !errors.As(err, &faults) || r != nil || len(faults.Faults) == 0 || !strings.Contains(err.Error(), faults.Faults[0].String()) {
		t.Fatalf("opened: %v, %v", r, err)
	}
	var lines []string
	for _, f := range faults.Faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

// Each fault keeps a replay from starting, is named, and nothing is left behind.
func TestO63_EachFaultIsNamedAndLeavesNothing(t *testing.T) {
	x := open(t, recorded(t)).Exchanges()
	one, head := x[1], x[0] // the head of x[1] is that of others too
	file := func(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	rewrite := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(file(dir, name), []byte(text), 0o600) }
	}
	remove := func(name string) func(dir string) error {
		return func(dir string) error { return os.Remove(file(dir, name)) }
	}
	change := func(from, to string) func(dir string) error {
		return func(dir string) error {
			text, err := os.ReadFile(file(dir, manifestName))
			if !bytes.Contains(text, []byte(from)) {
				return errors.New("no " + from)
			}
			return errors.Join(err, os.WriteFile(file(dir, manifestName), bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
		}
	}
	const of2 = "exchange 2 (GET page.example): "
	for _, tt := range []struct {
		name  string
		spoil func(dir string) error
		want  []string // each is in the faults
	}{
		{"no directory", os.RemoveAll, []string{"recording.json: the directory cannot be opened"}},
		{"no manifest", remove(manifestName), []string{"recording.json: it is missing"}},
		{"a manifest that is a directory", func(dir string) error {
			return errors.Join(remove(manifestName)(dir), os.Mkdir(file(dir, manifestName), 0o700))
		}, []string{"recording.json: it is not a regular file"}},
		{"a manifest that is a link", func(dir string) error {
			return errors.Join(os.Rename(file(dir, manifestName), file(dir, "x")), os.Symlink("x", file(dir, manifestName)))
		}, []string{"recording.json: it is a symbolic link"}},
		{"an empty manifest", rewrite(manifestName, ""), []string{"recording.json:1: it is not one JSON value"}},
		{"a list for a manifest", rewrite(manifestName, "[]"), []string{"recording.json:1: it is not an object"}},
		{"a manifest that is no UTF-8", change("wayleave-rules/1", "\xff"), []string{"recording.json:4: it is not UTF-8"}},
		{"a lone surrogate", change("wayleave-rules/1", `\ud800 \\udc00`), []string{"recording.json:4: a lone surrogate"}},
		{"data behind the manifest", change("\n}\n", "\n}\n{}"), []string{"it is not one JSON value"}},
		{"another format", change("wayleave-recording/1", "wayleave-recording/2"), []string{`recording.json:1: its format is "wayleave-recording/2" and must be "wayleave-recording/1"`}},
		{"no format", change(`"format": "wayleave-recording/1",`, ""), []string{`its format is ""`}},
		{"an unknown member", change(`"ruleset"`, `"notes": [{"a": 1}], "ruleset"`), []string{`recording.json:4: unknown member "notes"`}},
		{"a member in other letters", change(`"ruleset"`, `"Ruleset"`), []string{`unknown member "Ruleset"`, "member ruleset is missing"}},
		{"a member twice", change(`"ruleset"`, `"ruleset": "a", "ruleset"`), []string{"recording.json:4: member ruleset stands there twice"}},
		{"a member twice, in two spellings", change(`"ruleset"`, `"rules\u0065t": "a", "ruleset"`), []string{"member ruleset stands there twice"}},
		{"no instant", change(`"created_at": "2026-03-01T12:00:00.000Z"`, `"created_at": "2026-03-01"`), []string{"recording.json:3: member created_at is no instant"}},
		{"no exchanges", change(`"exchanges": [`, `"exchanges": {}, "x": [`), []string{`unknown member "x"`, "it has no list of exchanges"}},
		{"an exchange that is none", change(`"exchanges": [`, `"exchanges": [1,`), []string{"exchange 1: it is not an object", "exchange 2 (GET page.example): its n is 1 and must be 2"}},
		{"an unknown member of an exchange", change(`"n": 2,`, `"n": 2, "note": "x",`), []string{of2 + `unknown member "note"`}},
		{"an exchange that was taken out", change(`"n": 2`, `"n": 3`), []string{of2 + "its n is 3 and must be 2"}},
		{"a number that is text", change(`"n": 2`, `"n": "2"`), []string{of2 + "member n is no count"}},
		{"a number that is not whole", change(`"body_bytes": 6`, `"body_bytes": 6.0`), []string{of2 + "member body_bytes is no count"}},
		{"a text that is a number", change(`"method": "POST"`, `"method": 1`), []string{"exchange 4 (api.example): member method is no text"}},
		{"null", change(`"request_sha256": "`+sumOfQuestion+`"`, `"request_sha256": null`), []string{"exchange 4 (POST api.example): member request_sha256 is no text"}},
		{"another kind", change(`"kind": "page"`, `"kind": "pages"`), []string{of2 + "member kind is not page, robots, licence or other"}},
		{"a method that is none", change(`"method": "POST"`, `"method": "PO ST"`), []string{"member method is not a method"}},
		{"a relative URL", change(`"url": "`+site+`"`, `"url": "/a"`), []string{"exchange 2 (GET): member url is not an absolute http or https URL"}},
		{"a digest in capitals", change(`"`+sumOfQuestion+`"`, `"`+strings.ToUpper(sumOfQuestion)+`"`), []string{"member request_sha256 is not sha256: and 64 lower-case hex digits"}},
		{"a head without its body", change(`"body": "`+one.Body+`",`, ""), []string{of2 + "it has a head and no body", of2 + "it has a body_sha256 and no body"}},
		{"a body without its head", change(`"head": "`+head.Head+`",`, ""), []string{"exchange 1 (GET page.example): it has a body and no head"}},
		{"neither", change(`"n": 2,`, `"n": 2}, {"n": 3, "kind": "page", "method": "GET", "url": "https://page.example/", "captured_at": "2026-03-01T12:00:00.000Z"}, {`), []string{"exchange 3 (GET page.example): it has no head and no body"}},
		{"a file without its hash", change(`"body_sha256": "`+one.BodySHA256+`",`, ""), []string{of2 + "its body has no body_sha256"}},
		{"a path outside", change(one.Body, "../x"), []string{of2 + `member body is not a path inside the recording: "../x"`}},
		{"an absolute path", change(one.Body, "/etc/passwd"), []string{of2 + "member body is not a path inside"}},
		{"a path that comes back", change(one.Body, "bodies/../"+one.Body), []string{of2 + "member body is not a path inside"}},
		{"the directory itself", change(one.Body, "."), []string{of2 + "member body is not a path inside"}},
		{"one octet of a body", rewrite(one.Body, "<p>onE"), []string{one.Body + ": " + of2 + "its hash differs: the manifest has " + one.BodySHA256 + ", the file " + digest([]byte("<p>onE"))}},
		{"one octet of a head", rewrite(head.Head, `{"fields":[],"status":405}`), []string{head.Head + ": exchange 1 (GET page.example): its hash differs: the manifest has " + head.HeadSHA256 + ", the file "}},
		{"another hash in the manifest", change(one.BodySHA256, sumOfQuestion), []string{of2 + "its hash differs: the manifest has " + sumOfQuestion + ", the file " + one.BodySHA256}},
		{"another length in the manifest", change(`"body_bytes": 6`, `"body_bytes": 7`), []string{of2 + "it has 6 octets, and the manifest says 7"}},
		{"no body", remove(one.Body), []string{one.Body + ": " + of2 + "it is missing"}},
		{"no head", remove(head.Head), []string{head.Head + ": exchange 1 (GET page.example): it is missing"}},
		{"a body that is a link", func(dir string) error {
			return errors.Join(os.Rename(file(dir, one.Body), file(dir, "x")), os.Symlink("../x", file(dir, one.Body)))
		}, []string{one.Body + ": " + of2 + "it is a symbolic link"}},
		{"bodies behind a link", func(dir string) error {
			return errors.Join(os.Rename(file(dir, bodiesDir), file(dir, "x")), os.Symlink("x", file(dir, bodiesDir)))
		}, []string{one.Body + ": " + of2 + "it is a symbolic link, or behind one"}},
		{"a body that is a FIFO", func(dir string) error {
			return errors.Join(remove(one.Body)(dir), syscall.Mkfifo(file(dir, one.Body), 0o600))
		}, []string{one.Body + ": " + of2 + "it is not a regular file"}},
		{"a body that is a directory", func(dir string) error {
			return errors.Join(remove(one.Body)(dir), os.Mkdir(file(dir, one.Body), 0o700))
		}, []string{one.Body + ": " + of2 + "it is not a regular file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := recorded(t)
			must(t, tt.spoil(dir))
			parent := filepath.Dir(dir)
			before := files(t, parent)
			got := faultsOf(t, dir)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("the faults do not have %q:\n%s", want, got)
				}
			}
			if diff := cmp.Diff(before, files(t, parent)); diff != "" {
				t.Errorf("something was left behind:\n%s", diff)
			}
		})
	}
}

func TestO63_EveryFaultIsListed(t *testing.T) {
	dir := recorded(t)
	x := open(t, dir).Exchanges()
	edit(t, dir, `"ruleset"`, `"notes": "", "ruleset"`)
	edit(t, dir, `"kind": "robots"`, `"kind": "robot"`)
	edit(t, dir, x[1].Body, "../x")
	must(t, os.Remove(filepath.Join(dir, x[2].Body)))
	must(t, os.WriteFile(filepath.Join(dir, x[3].Body), nil, 0o600))
	want := strings.Join([]string{
		`recording.json:4: unknown member "notes", known are format, created_at, ruleset, exchanges`,
		`recording.json:8: exchange 1 (GET page.example): member kind is not page, robots, licence or other`,
		`recording.json:26: exchange 2 (GET page.example): member body is not a path inside the recording: "../x"`,
		x[2].Body + `: exchange 3 (GET page.example): it is missing`,
		x[3].Body + `: exchange 4 (POST api.example): its hash differs: the manifest has ` + x[3].BodySHA256 + `, the file ` + digest(nil),
		`recording.json: there is no recording of lic.example, which is required`,
		`recording.json: there is no recording of a b, which is required`,
	}, "\n")
	if diff := cmp.Diff(want, faultsOf(t, dir, "lic.example", "page.example", "a b")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestO63_OneChangedOctetAnywhereInAFile(t *testing.T) {
	dir := recorded(t)
	for name, text := range files(t, dir) {
		if name == manifestName {
			continue
		}
		for i := range len(text) {
			spoilt := []byte(text)
			spoilt[i] ^= 1
			must(t, os.WriteFile(filepath.Join(dir, name), spoilt, 0o600))
			if got := faultsOf(t, dir); !strings.Contains(got, "its hash differs") {
				t.Fatalf("%s, octet %d: %s", name, i, got)
			}
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	open(t, dir)
}

func TestO62_AHeadHasOneForm(t *testing.T) {
	const good = `{"fields":[["A","1"]],"status":200}`
	if _, err := decodeHead([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"blanks": `{"fields": [["A","1"]],"status":200}`, "another order": `{"status":200,"fields":[["A","1"]]}`, "a line's end": good + "\n",
		"an escape that is not needed": `{"fields":[["A","\u0031"]],"status":200}`, "a status as text": `{"fields":[],"status":"200"}`, "a status of two digits": `{"fields":[],"status":99}`,
		"no status": `{"fields":[]}`, "no fields": `{"status":200}`, "fields that are null": `{"fields":null,"status":200}`, "a name alone": `{"fields":[["A"]],"status":200}`,
		"a name that is none": `{"fields":[["A b","1"]],"status":200}`, "a character that is no octet": `{"fields":[["A","Ā"]],"status":200}`, "an unknown member": `{"fields":[],"more":1,"status":200}`,
	} {
		if h, err := decodeHead([]byte(text)); !errors.Is(err, ErrHead) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	dir := recorded(t)
	x := open(t, dir).Exchanges()[0]
	text := `{"fields":[], "status":404}`
	must(t, os.WriteFile(filepath.Join(dir, x.Head), []byte(text), 0o600))
	edit(t, dir, x.HeadSHA256, digest([]byte(text)))
	if got := faultsOf(t, dir); !strings.Contains(got, "exchange 1 (GET page.example): "+ErrHead.Error()) {
		t.Error(got)
	}
}

// A body of 64 MiB is hashed in a buffer.
func TestO63_MemoryDoesNotGrowWithTheFiles(t *testing.T) {
	w, dir := newWriter(t)
	e := w.Add(page(site), html())
	block := make([]byte, 1<<20)
	for range 64 {
		_, _ = e.Write(block)
	}
	e.Done()
	_, err := w.Close()
	must(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	open(t, dir)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d octets were allocated", grown)
	}
}

var seeds = []string{
	"", "{}", `{"format":"wayleave-recording/1","created_at":"2026-03-01T12:00:00.000Z","ruleset":"r","exchanges":[]}`,
	`{"format":"wayleave-recording/1","exchanges":[{"n":1,"n":2,"head":"../x","url":"\ud800"},1,null]}`,
	string(encodeManifest(noon, "r", []Exchange{{N: 1, Kind: Page, Method: "GET", URL: site, CapturedAt: noon, Head: "heads/a.json", HeadSHA256: sumOfQuestion, Body: "bodies/b", BodySHA256: sumOfQuestion, BodyBytes: 3}})),
}

// FuzzManifest holds that a manifest without a fault says the same when it is
// written again, and names nothing outside.
func FuzzManifest(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, faults := parseManifest(text)
		for _, fault := range faults {
			if fault.What == "" || fault.String() == "" || fault.Line < 1 || fault.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("%+v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		if !json.Valid(text) {
			t.Fatal("no JSON and no fault")
		}
		again, faults := parseManifest(encodeManifest(noon, "r", all))
		if diff := cmp.Diff(all, again); diff != "" || faults != nil {
			t.Fatalf("%v\n%s", faults, diff)
		}
		for i, x := range all {
			if x.N != i+1 || !x.valid() || !localPath(x.Head) || !localPath(x.Body) || strings.Contains(x.Body, "..") && !filepath.IsLocal(x.Body) {
				t.Fatalf("%+v", x)
			}
		}
	})
}

// FuzzHead holds that a head has one form.
func FuzzHead(f *testing.F) {
	heads := []Head{{Status: 200}, html(Field{"X", "\x00\xff\"\\"}, Field{"x", "é"})}
	if len(heads) == 0 {
		f.Fatal("no seeds")
	}
	for _, h := range heads {
		f.Add(h.encode())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := decodeHead(text)
		if err != nil {
			return
		}
		if !bytes.Equal(h.encode(), text) || !json.Valid(text) {
			t.Fatalf("%q is read as %+v", text, h)
		}
	})
}
