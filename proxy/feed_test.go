package proxy

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// In step, a Write returns when the reader has made all of it and asks for more.
func TestAFeedInStepWaitsForWhatIsMadeOfAPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(true)
		var made int
		go func() {
			buf := make([]byte, 3)
			for {
				n, err := f.Read(buf)
				if made += n; err != nil {
					f.Close()
					return
				}
			}
		}()
		for i := range 100 {
			f.Write(bytes.Repeat([]byte("x"), i))
			if want := i * (i + 1) / 2; made != want {
				t.Fatalf("%d were made of %d", made, want)
			}
		}
		f.finish(io.EOF)
		synctest.Wait()
		if n, err := f.Write([]byte("more")); n != 4 || err != nil || !f.ended() {
			t.Errorf("behind the end: %d, %v", n, err)
		}
	})
}

// What is written comes through whole and in order, and a reader that takes no
// more keeps nobody waiting.
func TestAFeedPassesEverythingOn(t *testing.T) {
	for _, step := range []bool{true, false} {
		f := newFeed(step)
		got := make(chan string)
		go func() {
			b, err := io.ReadAll(io.LimitReader(f, 5000))
			if err != nil {
				t.Error(err)
			}
			f.Close()
			got <- string(b)
		}()
		for range 1000 {
			io.WriteString(f, "seven..")
		}
		f.finish(io.EOF)
		if b := <-got; b != strings.Repeat("seven..", 1000)[:5000] {
			t.Errorf("%d octets came", len(b))
		}
	}
}
