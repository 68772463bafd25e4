package htmlhead

import (
	"fmt"
	"strings"
	"testing"
)

// usualPage is 64 KiB with a head of 4 KiB.
func usualPage() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Some longer title of a page</title>\n<meta name=\"robots\" content=\"max-image-preview:large\">\n")
	b.WriteString("<link rel=\"license\" type=\"application/rsl+xml\" href=\"/license.xml\">\n<script>window.dataLayer = window.dataLayer || []; for (let i = 0; i < 10; i++) {}</script>\n")
	for i := 0; b.Len() < 3900; i++ {
		fmt.Fprintf(&b, "<meta property=\"og:p%d\" content=\"Something &amp; something else\">\n<link rel=\"stylesheet\" href=\"/assets/style-%d.css\">\n", i, i)
	}
	b.WriteString("</head>\n<body>\n")
	for b.Len() < 1<<16 {
		b.WriteString("<p>Words in a paragraph.</p>\n")
	}
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	o := options(b)
	for _, bb := range []struct{ name, page string }{
		{"64 KiB with a head of 4 KiB", usualPage()},
		{"64 KiB of head", strings.Replace(usualPage(), "</head>\n<body>\n", "<!--", 1)},
		{"64 KiB of script", script(strings.Repeat("if (a < b) a--;\n", 1<<12))},
		{"64 KiB of tags", strings.Repeat("<meta name=x content='y'>", 1<<12)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			r := strings.NewReader("")
			for b.Loop() {
				r.Reset(bb.page)
				if _, err := Read(r, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	o := options(b)
	h, err := Read(strings.NewReader(usualPage()), o)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Restore(h.Extract, o)
	}
}
