package pagetext

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// nearlyPlain are pages of which plain takes a part and leaves a part.
var nearlyPlain = []string{
	"<!DOCTYPE html><!doctype HTML PUBLIC x>a", "<!-- a -->b<!--> c --!>d<!---->e<!--->f<!-- -- >g",
	"<p a=1 b='>' c=\">\" d = x>f<p a= b=\">\">g<p a/b=>h<br a/>i<p =a>j<p a=b\"c>d\">k", "&ampj&#38;&#x26&lt<3&;&am&#60p;&notin;&AMP", "</p a=\">\">b</ p>c</>d",
	"<title>a</title>b<title>c</TITLE >d", "<script>a</scripty></script/><script><!--</script>b", "<STYLE>a<!--</style>b<noscript>c</noscript d>e", "a<svg><p>b<math/>c<iframe><p>d",
}

// byTokens takes the text with the tokenizer alone.
func byTokens(page []byte) []byte {
	x := newExtractor(page)
	x.tokens(len(page) + 1)
	return x.lines.out
}

func TestO50_PlainDoesNotDepartFromTheTokenizer(t *testing.T) {
	for _, page := range nearlyPlain {
		checkText(t, []byte(page))
	}
	bits := append(nearlyPlain, "<p", "<a", "</a", "<title", "<script", "</script", "<br", ">", "/>", "/", " ", "\n", "=", `"`, "'", "x", "x-y:1", "<!--", "--", "->", "!", "&", "#", ";", "amp", "38")
	r := rand.New(rand.NewPCG(50, 4))
	taken := 0
	for range 30_000 {
		var b strings.Builder
		for range r.IntN(20) {
			bit := bits[r.IntN(len(bits))]
			b.WriteString(bit[:len(bit)-r.IntN(1+len(bit)/2)])
		}
		page := []byte(b.String())
		if got, want := Extract(page), byTokens(page); !bytes.Equal(got, want) {
			t.Fatalf("%q: %q, and with the tokenizer alone %q", page, got, want)
		}
		x := newExtractor(page)
		if x.plain(); len(x.rest) < len(page)/2 {
			taken++
		}
	}
	if taken < 1000 {
		t.Errorf("plain took most of %d pages only", taken)
	}
}
