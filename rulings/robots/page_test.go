package robots

import (
	"fmt"
	"slices"
	"testing"
)

func TestFormT31(t *testing.T) {
	for _, tt := range []struct{ name, target, want string }{
		{"no path is /", "", "/"},
		{"the target * is /", "*", "/"},
		{"no path before a query is /", "?q", "/?q"},
		{"a fragment goes, with a ? in it", "/a#b?c", "/a"},
		{"an unreserved octet is decoded", "/%41%7e", "/A~"},
		{"another escape gets capitals", "/%c3%a9%2f", "/%C3%A9%2F"},
		{"a star is escaped", "/a*", "/a%2A"},
		{"a dollar is escaped", "/a$b$", "/a%24b%24"},
		{"a % that starts no escape is escaped", "/%/%4/%g1/%", "/%25/%254/%25g1/%25"},
		{"an escaped % is no escape's beginning", "/%252F", "/%252F"},
		{"two escapes in one are not decoded twice", "/%2%35", "/%2525"},
		{"octets that no URL has are escaped", "/\x00 \"<>\\^`{|}\x7f\xff", "/%00%20%22%3C%3E%5C%5E%60%7B%7C%7D%7F%FF"},
		{"in a query some escapes are the octet", "/?%3a%2F%3f%40%5b%5D", "/?:/?@[]"},
		{"and others are not", "/?%26%3D%2B%23%25", "/?%26%3D%2B%23%25"},
		{"an escaped ? begins no query", "/%3F%2F", "/%3F%2F"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Form(tt.target); got != tt.want {
				t.Errorf("Form(%q) = %q, want %q", tt.target, got, tt.want)
			}
		})
	}
}

func TestPatternT32ToT34(t *testing.T) {
	for _, tt := range []struct {
		name, pattern, form string
		length              int
		match, miss         []string
	}{
		{"an empty text matches nothing", "", "", 0, nil, []string{"/", ""}},
		{"a plain text is a prefix", "/a", "/a", 2, []string{"/a", "/ab"}, []string{"/", "/b/a"}},
		{"the anchor alone matches no form", "$", "$", 1, nil, []string{"/"}},
		{"a $ elsewhere is literal", "/a$b", "/a%24b", 6, []string{"/a$b", "/a%24b"}, []string{"/a"}},
		{"of two at the end the last is the anchor", "/a$$", "/a%24$", 6, []string{"/a$"}, []string{"/a$b"}},
		{"an escaped $ is no anchor", "/a%24", "/a%24", 5, []string{"/a$", "/a$b"}, nil},
		{"stars count one octet each", "/a***b", "/a***b", 6, []string{"/ab", "/a/b"}, []string{"/a"}},
		{"a star may match nothing", "*", "*", 1, []string{"/", "/a"}, nil},
		{"the last piece must end an anchored form", "/*a$", "/*a$", 4, []string{"/aba"}, []string{"/ab"}},
		{"pieces do not share octets", "/ab*ba$", "/ab*ba$", 7, []string{"/abba"}, []string{"/aba"}},
		{"a piece is not found in the prefix", "/ab*/ab", "/ab*/ab", 7, []string{"/ab/ab"}, []string{"/ab"}},
		{"a query begun in one piece goes on in the next", "/?a*%2F", "/?a*/", 5, []string{"/?ab/"}, []string{"/a/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Compile(tt.pattern)
			if p.String() != tt.form || p.Len() != tt.length {
				t.Errorf("form %q of length %d, want %q of %d", p.String(), p.Len(), tt.form, tt.length)
			}
			for _, target := range tt.match {
				if !p.Match(Form(target)) {
					t.Errorf("does not match %s", target)
				}
			}
			for _, target := range tt.miss {
				if p.Match(Form(target)) {
					t.Errorf("matches %s", target)
				}
			}
		})
	}
}

func TestReadingsT35T36(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		want         []string
	}{
		{"a plain path has one", "/a.b/..c/.well-known/...", []string{"/a.b/..c/.well-known/..."}},
		{"a query is never expanded", "/a?b//c;d/../e%2F", []string{"/a?b//c;d/../e/"}},
		{"an escape of UTF-8 adds none", "/caf%c3%a9", []string{"/caf%C3%A9"}},
		{"an escaped separator is decoded", "/a%2fb%5Cc", []string{"/a%2Fb%5Cc", "/a/b/c"}},
		{"a raw backslash is a separator", `/a\b`, []string{"/a%5Cb", "/a/b"}},
		{"a second escape is left alone", "/a%252Fb", []string{"/a%252Fb"}},
		{"slashes merge", "/a///b", []string{"/a///b", "/a/b"}},
		{"dots resolve, in escapes too", "/a/%2E%2e/b/%2e", []string{"/a/../b/.", "/b/"}},
		{"dots above the root stay at the root", "/../../a", []string{"/../../a", "/a"}},
		{"dots take an empty segment away", "/a//../b", []string{"/a//../b", "/a/../b", "/a/b", "/b"}},
		{"three dots are a name", "/.../a;", []string{"/.../a;", "/.../a"}},
		{"parameters are stripped from each segment", "/a;x=1/b;y", []string{"/a;x=1/b;y", "/a/b"}},
		{"operations feed one another", "/x/..%3B/n", []string{"/x/..%3B/n", "/x/..;/n", "/x/../n", "/n"}},
		{"a path without a slash is read with one", "a", []string{"a", "/a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPage(tt.target)
			if p.OverLimit() || !slices.Equal(p.Readings(), tt.want) {
				t.Errorf("readings of %s: %q, want %q", tt.target, p.Readings(), tt.want)
			}
		})
	}
}

func TestPageT37HasAtMost64Readings(t *testing.T) {
	const with64, with65 = "//..%2F/a../;//..//..;%5Ca", "/x//..;/.../;/..;/a/%2Fb/;//%2F..%2F..%2F;%5Cc"
	if p := NewPage(with64); p.OverLimit() || len(p.Readings()) != MaxReadings {
		t.Errorf("a path with 64 spellings: %d readings, over the limit %v", len(p.Readings()), p.OverLimit())
	}
	if p := NewPage(with65); !p.OverLimit() {
		t.Errorf("a path with 65 spellings is ruled on %q", p.Readings())
	}
}

func TestFastPathOfNewPageAgreesWithTheSlowOne(t *testing.T) {
	pieces := []string{"/", "a", ".", "..", "%2E", ";", `\`, "%2F", "é", "%41"}
	for i := range len(pieces) * len(pieces) * len(pieces) * len(pieces) {
		target := "/"
		for n := i; n > 0; n /= len(pieces) {
			target += pieces[n%len(pieces)]
		}
		var slow Page
		slow.read(target, "?q")
		if fast := NewPage(target + "?q"); !slices.Equal(fast.Readings(), slow.Readings()) {
			t.Fatalf("readings of %s: %q and %q", target, fast.Readings(), slow.Readings())
		}
	}
}

func ExampleNewPage() {
	for _, reading := range NewPage("/a//b%2Fc?q").Readings() {
		fmt.Println(reading)
	}
	// Output:
	// /a//b%2Fc?q
	// /a//b/c?q
	// /a/b%2Fc?q
	// /a/b/c?q
}
