package htmlhead

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are pages that are long, deep or meant to make a reader go back.
var hostile = map[string]string{
	"white space":                strings.Repeat(" ", 1<<17),
	"open brackets":              " " + strings.Repeat("<!", 1<<16),
	"a comment without end":      "<!--" + strings.Repeat("-!", 1<<16),
	"a tag without end":          "<link " + strings.Repeat("a=' ' ", 1<<14),
	"a quote without end":        "<meta a='" + strings.Repeat("x", 1<<17),
	"ten thousand attributes":    "<link " + strings.Repeat("a ", 10000) + ">" + link,
	"distinct attributes":        "<meta " + distinct(8000) + ">" + link,
	"templates":                  strings.Repeat("<template>", 1<<13) + link,
	"end tags of nothing":        strings.Repeat("</template>", 1<<12) + link,
	"scripts":                    strings.Repeat(script("x"), 1<<11),
	"script marks":               "<script type=application/rsl+xml>" + strings.Repeat("<!--<script></script", 1<<12),
	"short references, a base":   "<base href='/" + strings.Repeat("b", 1<<15) + "/'>" + strings.Repeat("<link rel=license type=application/rsl+xml href=a>", 600),
	"references with a page":     strings.Repeat(link, 1200),
	"metas":                      strings.Repeat("<meta name=robots content=a>", 3000),
	"character references":       "<meta name=robots content='" + strings.Repeat("&amp;", 10000) + "'>",
	"a name without end":         "<" + strings.Repeat("l", 1<<17),
	"a name in a template":       "<template><" + strings.Repeat("l", 1<<17),
	"plaintext in a template":    "<template><plaintext></template>" + link,
	"zero octets":                strings.Repeat("\x00", 1<<17),
	"invalid UTF-8 in all parts": "<link rel='\xff license' type='application/rsl+xml;\xff' href='\xff'><meta name=robots content='\xff'>" + script("\xff"),
}

func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d ", i)
	}
	return b.String()
}

func TestT66_HostilePagesAreReadAndBounded(t *testing.T) {
	for name, page := range hostile {
		t.Run(name, func(t *testing.T) { checkPage(t, []byte(page), options(t)) })
	}
}
