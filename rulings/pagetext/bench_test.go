package pagetext

import (
	"fmt"
	"strings"
	"testing"
)

const size = 64 << 10

func fill(line func(i int) string) []byte {
	b := strings.Builder{}
	b.WriteString("<!DOCTYPE html><html><head><title>A page</title></head><body>")
	for i := 0; b.Len() < size; i++ {
		b.WriteString(line(i))
	}
	return []byte(b.String()[:size])
}

func BenchmarkExtract(b *testing.B) {
	inputs := []struct {
		name string
		page []byte
	}{
		{"article", fill(func(i int) string {
			return fmt.Sprintf("<h2><a href=\"/news/%d\">A title</a></h2>\n<p>%s</p>\n", i, strings.Repeat("Words of a paragraph with <b>bold</b> ones &amp; others, then some more of them. ", 6))
		})},
		{"list of links", fill(func(i int) string {
			return fmt.Sprintf("<div class=\"item item-%d\" id=\"n%d\"><h2><a href=\"/news/%d/some-long-title\">Some title &amp; more</a></h2>\n<p>Words in a <b>bold</b> paragraph.</p></div>\n", i, i, i)
		})},
		{"scripts", fill(func(i int) string {
			return fmt.Sprintf("<script>function f%d(a, b) { if (a < b) return '%d'; }</script>\n<p>x</p>", i, i)
		})},
		{"text", fill(func(i int) string { return "Words of a long text in which hardly any markup stands, or none at all.\n" })},
	}
	for _, h := range hostile {
		inputs = append(inputs, struct {
			name string
			page []byte
		}{"hostile: " + h.name, []byte(h.page)})
	}
	for _, bb := range inputs {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.page)))
			b.ReportAllocs()
			for b.Loop() {
				Extract(bb.page)
			}
		})
	}
}
