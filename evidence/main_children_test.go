package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// summed returns a record of n octets whose text carries its own checksum.
func summed(n int) Record {
	text := strings.Repeat(strconv.Itoa(rand.IntN(1e9))+" ", n/10)
	sum := sha256.Sum256([]byte(text))
	const item = 4000 // under the bound of one value
	c := &Crossing{Grade: Mediated, Method: hex.EncodeToString(sum[:])}
	for len(text) > 0 {
		k := min(item, len(text))
		c.Gaps = append(c.Gaps, Gap{"filler", text[:k]})
		text = text[k:]
	}
	return CrossingEnded{c}
}

// checkSummed reports whether a record of summed is as it was written.
func checkSummed(r logged) bool {
	var text strings.Builder
	gaps, _ := r.get("gaps").([]any)
	for _, g := range gaps {
		text.WriteString(g.(map[string]any)["detail"].(string))
	}
	sum := sha256.Sum256([]byte(text.String()))
	return r.get("method") == hex.EncodeToString(sum[:])
}

// childWrite appends args[2] records of 1 to 100 KB to session args[1] of the
// data directory args[0], in segments of args[3] octets if that is given.
func childWrite(args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var o Options
	if len(args) > 3 {
		if o.SegmentBytes, err = strconv.ParseInt(args[3], 10, 64); err != nil {
			return err
		}
	}
	s, err := Open(args[0], o)
	if err != nil {
		return err
	}
	l, err := s.Session(args[1])
	if err != nil {
		return err
	}
	for range count {
		_, err := l.Append(context.Background(), summed(1000+rand.IntN(99_000)))
		if err != nil {
			return err
		}
	}
	return s.Close(context.Background())
}

// childLinger opens crossings in session args[1] of args[0], ends the first one,
// says which it left open, and waits to be killed.
func childLinger(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	l, err := s.Session(args[1])
	if err != nil {
		return err
	}
	first, err := l.Append(context.Background(), opened("ended"))
	if err == nil {
		_, err = l.Append(context.Background(), CrossingEnded{&Crossing{Grade: Mediated, Opened: first}})
	}
	second, err2 := l.Append(context.Background(), opened("stream"))
	third, err3 := l.Append(context.Background(), opened("stream"))
	if err := errors.Join(err, err2, err3, s.Publish([]byte(`{"ready":true}`))); err != nil {
		return err
	}
	fmt.Println("edge", s.EdgeID())
	fmt.Println("left", second, third)
	time.Sleep(time.Hour)
	return nil
}

// childStarve appends one record after another to session args[1] of args[0], 64
// at a time, until its standard input ends.
func childStarve(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	l, err := s.Session(args[1])
	if err != nil {
		return err
	}
	_, err = l.Append(context.Background(), opened("x"))
	if err != nil {
		return err
	}
	fmt.Println("writing")
	for range 64 {
		go func() {
			for {
				l.Append(context.Background(), opened("x"))
			}
		}()
	}
	os.Stdin.Read(make([]byte, 1))
	return nil
}
