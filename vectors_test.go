package wayleave_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vectorDigests are the SHA-256 of the vector files as they were published. New
// behaviour comes with a vector of its own, and then with a digest here.
var vectorDigests = map[string]string{
	"content_signal.json": "6edc924e8b57fcefad2994c5a77eee64a8ce83028b2328824b2b9d28626a131f",
	"content_usage.json":  "8532975f9b43a0b0ac3fa5ffcd57a395b2a1fc4b5cf05f3aeca8556e2f4e9e31",
	"link.json":           "470b8c1a6acb7a9e7e34bbeaf2e44c0ae2af2e0ba4de8a190a51c5b2c8664fb5",
	"pacing.json":         "5a0d0734dd6eb0ca958d148f2dea67315d018cdf56a97f4aa5ea7ee2dc051cc7",
	"policy.json":         "981100a7a8538040ed9374256f106098970ad467b89b501519e9e3719d15daf2",
	"robots.json":         "f9bbe94ac0f142648ad2e1b99067274c32234788b79fe9f3f65325e80ec1dae8",
	"rsl_select.json":     "f3c42a7b54eb31d32b05c13677904c925c594c5b059ae971f61a33fa497d143b",
	"rsl_terms.json":      "f0086c7717dadc61dbf24659f42f86672e30dac4d8476e4b835c037656caf127",
	"tdm_and_others.json": "e1d9f3483efe3983519bbb3c9375fec7a4eb2bac174af0d081d07307b1ec4eaf",
}

// eachVectorFile calls each with every vector file in the tree.
func eachVectorFile(t *testing.T, each func(path string, data []byte)) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"testdata/vectors/*.json", "*/testdata/vectors/*.json", "*/*/testdata/vectors/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < len(vectorDigests) {
		t.Fatalf("only %d vector files are there", len(paths))
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		each(path, data)
	}
}

// A vector that fails is a defect of the code or of the rule, and is never edited
// to pass (T126).
func TestT126_VectorsAreAsTheyWerePublished(t *testing.T) {
	read := map[string]bool{}
	eachVectorFile(t, func(path string, data []byte) {
		name := filepath.Base(path)
		read[name] = true
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != vectorDigests[name] {
			t.Errorf("%s has the digest %s, and %q was published", path, got, vectorDigests[name])
		}
	})
	for name := range vectorDigests {
		if !read[name] {
			t.Errorf("no test reads %s", name)
		}
	}
}

// A vector says what it shows and where that stands: a standard and its section,
// or the rule by which we depart from it (T127).
func TestT127_VectorsSayWhatTheyShow(t *testing.T) {
	eachVectorFile(t, func(path string, data []byte) {
		var file struct {
			About   map[string]any
			Vectors []struct {
				ID, About, Title, Source string
				Rules                    []string
			}
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if file.About["format"] == nil || file.About["page"] == nil {
			t.Errorf("%s does not say what it is read by: %v", path, file.About)
		}
		if len(file.Vectors) == 0 {
			t.Errorf("%s has no vectors", path)
		}
		for _, v := range file.Vectors {
			if v.About+v.Title == "" || v.Source == "" && len(v.Rules) == 0 {
				t.Errorf("%s: %s shows %q of %q %q", path, v.ID, v.About+v.Title, v.Source, v.Rules)
			}
		}
	})
}

// mentioned are hosts that stand in tests as names of formats and as words, some of
// them cut or none; nothing asks them for anything.
var mentioned = []string{"rslstandard.org", "www.w3.org", "github.com", "www.site-", "o.exam", "a..b", "...", "0x7f.1"}

// No test reaches the network beyond the machine (T129): what tests name as hosts
// are names that are reserved for that (RFC 2606, RFC 6761) or addresses of this
// machine or of documentation.
func TestT129_TestsNameNoHostOfTheRealWorld(t *testing.T) {
	at := regexp.MustCompile(`https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)`)
	seen := 0
	for _, f := range goFiles(t) {
		if !f.isTest() {
			continue
		}
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range at.FindAllSubmatch(data, -1) {
			seen++
			if host := string(m[1]); !reservedHost(host) && !slices.Contains(mentioned, host) {
				t.Errorf("%s names %s", f.path, host)
			}
		}
	}
	if seen == 0 {
		t.Error("no test names a host")
	}
}

func reservedHost(host string) bool {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		documentation := slices.ContainsFunc([]string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"}, func(p string) bool {
			return netip.MustParsePrefix(p).Contains(addr.Unmap())
		})
		return documentation || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	top := labels[len(labels)-1]
	return slices.Contains([]string{"test", "example", "invalid", "localhost"}, top) ||
		len(labels) > 1 && labels[len(labels)-2] == "example" && slices.Contains([]string{"com", "net", "org"}, top) || len(labels) == 1
}
