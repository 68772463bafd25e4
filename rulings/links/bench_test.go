package links

import (
	"strings"
	"testing"
)

func BenchmarkLicences(b *testing.B) {
	page := parseURL(b, "https://o.example/articles/2026/11/some-longer-title")
	for _, bb := range []struct {
		name string
		line string
	}{
		{"preloads and a licence", `</s.css>; rel=preload; as=style, <https://cdn.example/x.js>; rel="preload"; as="script"; crossorigin="anonymous", </license.xml>; rel="license"; type="application/rsl+xml"`},
		{"64 KiB that says license", strings.Repeat("</l>; rel=license; title=\"a, b\", ", 1<<16/33)},
		{"64 KiB of quotes", strings.Repeat("\"\\\"\"", 1<<14)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.line)))
			b.ReportAllocs()
			for b.Loop() {
				Licences(page, []string{bb.line})
			}
		})
	}
}
