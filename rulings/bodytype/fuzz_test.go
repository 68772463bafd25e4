package bodytype

import (
	"testing"
	"unicode/utf8"
)

var seeds = []struct{ contentType, coding, first string }{
	{"", "", ""}, {"text/html; charset=utf-8", "gzip", "<p>"}, {"application/pdf", "", "%PDF-"}, {"text/html;charset", "br,,", "\xff\xfe"}, {"image/svg+xml", "identity", "\x00<"}, {"application/grpc+json", "", "{"}, {"/;=\"", " ,", "caf\xe9"},
}

// FuzzVerdict holds what a caller relies on for any answer: unreadable and a
// reason go together, what the head settles stays, and only what is not a type of
// text can be textless by its type.
func FuzzVerdict(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(200, s.contentType, s.coding, int64(1000), []byte(s.first))
	}
	f.Fuzz(func(t *testing.T, status int, contentType, coding string, length int64, first []byte) {
		h := Head{Status: status, Types: []string{contentType}, Codings: []string{coding}, Length: length}
		byHead := ByHead(h, limit)
		v := byHead.ByContent(first)
		for _, v := range []Verdict{byHead, v} {
			if v.Settled() != (v.Reason != "") || v.Settled() && v.Readable() {
				t.Fatalf("%+v", v)
			}
		}
		if v.Kind == Undecided || byHead.Settled() && v != byHead || byHead.Readable() && v.Readable() && v != byHead {
			t.Fatalf("%+v, and by its content %+v", byHead, v)
		}
		if byHead == (Verdict{}) && v.Readable() && len(first) < Looked && !utf8.Valid(first) {
			t.Fatalf("%q is read", first)
		}
		if length != 0 && Textless(h) && byHead.Readable() {
			t.Fatalf("%q is readable and textless", contentType)
		}
		if m := MediaType(contentType); m != "" && MediaType(m) != m {
			t.Fatalf("%q of %q", m, contentType)
		}
		Blank(first)
	})
}
