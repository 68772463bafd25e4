package pagetext

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const mebibyte = 1 << 20

func repeat(unit string) string { return strings.Repeat(unit, mebibyte/len(unit)) }

func attributes() string {
	var b strings.Builder
	for i := 0; b.Len() < mebibyte; i++ {
		fmt.Fprintf(&b, " %x", i)
	}
	return b.String()
}

// hostile are pages that are long, deep or meant to make a reader go back.
var hostile = []struct{ name, page string }{
	{"deep nesting", repeat("<div>")},
	{"end tags alone", repeat("</div>")},
	{"one tag that does not end", "<p " + repeat("a ")},
	{"one attribute that does not end", "<p a='" + repeat("x")},
	{"one attribute", "<p a='" + repeat("x") + "'>"},
	{"many attributes", "<p" + attributes() + ">"},
	{"many attributes, then tags with one", "<p" + attributes()[:mebibyte/2] + ">" + repeat("<b x>")[:mebibyte/2]},
	{"the same attribute", "<p" + repeat(" a=b") + ">"},
	{"a long name", "<" + repeat("a") + ">"},
	{"a head that does not end", "<head>" + repeat("<meta>")},
	{"a script that does not end", "<script>" + repeat("</scrip <!--")},
	{"a script of scripts", repeat("<script><!--<script>")},
	{"a title that does not end", "<title>" + repeat("</titl")},
	{"a comment that does not end", "<!--" + repeat("--!")},
	{"comments", repeat("<!---->")},
	{"less-than signs", repeat("<")},
	{"less-than signs and slashes", repeat("</")},
	{"ampersands", repeat("&")},
	{"a reference that does not end", "&" + repeat("a")},
	{"a number that does not end", "&#" + repeat("9")},
	{"references that grow", repeat("&nGt;")},
	{"svg in svg", repeat("<svg>")},
	{"svg, and end tags of math", repeat("<svg>")[:mebibyte/2] + repeat("</math>")[:mebibyte/2]},
	{"points in svg, and their end tags", strings.Repeat("<svg><desc>", mebibyte/30) + strings.Repeat("</title></svg>", mebibyte/30)},
	{"templates", repeat("<template>")},
	{"CDATA sections in svg", "<svg>" + repeat("<![CDATA[")},
	{"CDATA sections in HTML", repeat("<![CDATA[")},
	{"declarations", repeat("<!")},
	{"text", repeat("word ")},
	{"white space", repeat(" \n")},
	{"bytes that are not UTF-8", repeat("\xff")},
	{"zero bytes", repeat("\x00")},
	{"lines", repeat("a<br>")},
}

// A quadratic reader would take minutes here.
func TestO50_HostilePagesTakeLinearTimeAndMemory(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			page := []byte(h.page)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text := Extract(page)
			runtime.ReadMemStats(&after)
			if len(text) > MaxGrowth*len(page) {
				t.Errorf("%d bytes of %d", len(text), len(page))
			}
			// The dearest are attributes, of which the tokenizer makes a map.
			if total := after.TotalAlloc - before.TotalAlloc; total > 80*mebibyte {
				t.Errorf("took %d MiB of memory for one", total/mebibyte)
			}
		})
	}
}
