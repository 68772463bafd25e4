package pii

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file of the present rule text")

// TestO43_BehaviourCannotChangeWithoutTheDigest compares what Scan finds with the
// file that is named after the digest of the rule text. When it fails, the rule
// text has to say what is new; the file of the text before goes, and -update
// writes the one of the new text.
func TestO43_BehaviourCannotChangeWithoutTheDigest(t *testing.T) {
	name := filepath.Join("testdata", "golden", fmt.Sprintf("%x.txt", Digest()))
	got := behaviour()
	if *update {
		if _, err := os.Stat(name); err == nil {
			t.Fatalf("%s exists: the rule text has not changed", name)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("the rule text has changed: %v", err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("under the same rule text, line %d differs: want %q, got %q", i+1, slices.Concat(wantLines[i:], []string{""})[0], slices.Concat(gotLines[i:], []string{""})[0])
		}
	}
	if others, err := filepath.Glob(filepath.Join("testdata", "golden", "*")); err != nil || len(others) != 1 {
		t.Errorf("%d golden files, %v", len(others), err)
	}
}

// behaviour lists what is found in many texts, and a hash for very many more.
func behaviour() string {
	var b strings.Builder
	r := rand.New(rand.NewPCG(48, 2))
	texts := slices.Clone(seeds)
	for range 400 {
		texts = append(texts, madeUp(r, 1+r.IntN(12)))
	}
	for _, text := range texts {
		findings, cut := Scan([]byte(text))
		fmt.Fprintf(&b, "%q %v %v\n", text, findings, cut)
	}
	all := sha256.New()
	for range 20_000 {
		findings, cut := Scan([]byte(madeUp(r, r.IntN(40))))
		fmt.Fprintln(all, findings, cut)
	}
	for _, n := range []int{20, 21, 22} {
		findings, cut := Scan([]byte(strings.Repeat("+12345678@example.org AB123456C ", n)))
		fmt.Fprintln(all, findings, cut)
	}
	fmt.Fprintf(&b, "more: %x\n", all.Sum(nil))
	return b.String()
}

func TestO43_TheRulesNameEveryCategoryAndWhatTheyCannotSee(t *testing.T) {
	for _, g := range grammars {
		if !strings.Contains(RuleText(), "\n"+g.category+": ") {
			t.Errorf("the rule text does not speak of %s", g.category)
		}
	}
	if len(Blind()) == 0 || slices.Contains(Blind(), "") {
		t.Errorf("blind to %q", Blind())
	}
	Blind()[0] = "changed"
	if Blind()[0] == "changed" {
		t.Error("a caller can change what others are told")
	}
	if Digest() != sha256.Sum256([]byte(RuleText())) {
		t.Error("the digest is not that of the rule text")
	}
}
