package bodytype

import (
	"strings"
	"testing"
)

func BenchmarkVerdict(b *testing.B) {
	first := []byte(strings.Repeat("<p>Words of a page, with \u00e4.</p>", 40))
	for _, bb := range []struct {
		name string
		h    Head
	}{
		{"HTML", Head{Status: 200, Types: []string{"text/html; charset=utf-8"}, Codings: []string{"gzip"}, Length: -1}},
		{"no type", Head{Status: 200, Length: 1000}},
		{"a picture", Head{Status: 200, Types: []string{"image/png"}, Length: 1000}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ByHead(bb.h, limit).ByContent(first)
			}
		})
	}
}
