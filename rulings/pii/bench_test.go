package pii

import (
	"fmt"
	"strings"
	"testing"
)

const size = 64 << 10

func fill(line func(i int) string) []byte {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(line(i))
	}
	return []byte(b.String()[:size])
}

func BenchmarkScan(b *testing.B) {
	inputs := []struct {
		name string
		text []byte
	}{
		{"text", fill(func(i int) string {
			return fmt.Sprintf("Words in a paragraph number %d, with some more words that follow it (and a few others).\n", i)
		})},
		{"html", fill(func(i int) string {
			return fmt.Sprintf("<div class=\"article item-%d\" id=\"n%d\"><h2><a href=\"/news/%d/some-long-title\">Some title &amp; more</a></h2>\n<p>Words in a <b>bold</b> paragraph, some more words follow.</p></div>\n", i, i, i)
		})},
		{"table of numbers", fill(func(i int) string { return fmt.Sprintf("%d\t%d\t%d.%d\t2024-05-17\n", i, i*7919, i*31, i%100) })},
	}
	for _, h := range hostile {
		inputs = append(inputs, struct {
			name string
			text []byte
		}{"hostile: " + h.name, []byte(strings.Repeat(h.unit, size/len(h.unit)))})
	}
	for _, bb := range inputs {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				Scan(bb.text)
			}
		})
	}
}
