package robots

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestT34TheLengthOfAPatternIsThatOfItsForm(t *testing.T) {
	for _, tt := range []struct {
		name, pattern string
		want          int
	}{
		{"plain octets", "/abc", 4},
		{"a wildcard and the anchor count", "/a*b$", 5},
		{"an escape of an unreserved octet is one octet", "/%61", 2},
		{"any other escape is three", "/%2F", 4},
		{"an octet that no form holds is written as three", "/\xe9", 4},
		{"a run of wildcards counts each", "/**", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Compile(tt.pattern)
			if p.Len() != tt.want || p.Len() != len(p.String()) {
				t.Errorf("%q is %d octets long as %q, want %d", tt.pattern, p.Len(), p.String(), tt.want)
			}
		})
	}
}

func TestT36ReadingsComeBreadthFirstInTheOrderOfTheOperations(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		want         []string
	}{
		{"nothing to read in two ways", "/a/b", []string{"/a/b"}},
		{"decode before merge", "/a%2F/b", []string{"/a%2F/b", "/a//b", "/a/b"}},
		{"resolve before strip, and each once", "/a;x/../b", []string{"/a;x/../b", "/b", "/a/../b"}},
		{"the query stays behind each", "//a?q=//", []string{"//a?q=//", "/a?q=//"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, NewPage(tt.target).Readings()); diff != "" {
				t.Errorf("readings (-want +got):\n%s", diff)
			}
		})
	}
}
