package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/wayleave/wayleave/rulings"
)

// delivered is a crossing that the edge carried.
func delivered(url string) *Crossing {
	return &Crossing{Grade: Mediated, Class: rulings.Source, Outcome: Delivered, Method: "GET", URL: url, HTTPStatus: 200}
}

// What a Store wrote is what an Index of another process finds.
func TestIndexReadsWhatAStoreWroteE12(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := OpenIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	log, err := store.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	append := func(recs ...Record) uint64 {
		seq, err := log.Append(t.Context(), recs...)
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	opened := append(CrossingOpened{delivered("http://a.test/")})
	ended := delivered("http://a.test/")
	ended.Opened = opened
	final := append(CrossingEnded{ended})
	append(CrossingUndelivered{Crossing: opened, Bytes: 5, Failure: Failure{Kind: "reset"}})
	refused := &Crossing{
		Grade: Mediated, Class: rulings.Source, Outcome: Refused, Method: "GET", URL: "http://b.test/?token=secret",
		Refusal: Refusal{Reason: rulings.RobotsDisallow, Whose: rulings.WhoseSource, Stage: rulings.StageBefore, Detail: "d"},
		Gaps:    []Gap{{Reason: CapabilityUnavailable, Detail: "d"}},
	}
	last := append(CrossingEnded{refused})

	got, err := x.Crossing("s", final)
	if err != nil || got.Number != opened || got.Opened == nil || got.Final == nil || got.Undelivered == nil {
		t.Errorf("the crossing is %+v, error %v", got, err)
	}
	page, err := x.Crossings(Query{Reason: rulings.RobotsDisallow, Gap: Yes, Host: "B.test"})
	if err != nil || len(page.Items) != 1 || bytes.Contains(page.Items[0].Record, []byte("secret")) {
		t.Fatalf("the refusals are %+v, error %v", page, err)
	}
	if want := fmt.Appendf(nil, `{"seq":%d,`, last); !bytes.HasPrefix(page.Items[0].Record, want) {
		t.Errorf("the refusal is %s", page.Items[0].Record)
	}
	sum, err := x.Summary("s")
	if diff := cmp.Diff(Summary{Delivered: 1, Refused: 1, Gaps: 1}, sum); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
	info, err := x.Session("s")
	if err != nil || !slices.Equal(info.Completeness.OpenEdges, []string{store.EdgeID()}) {
		t.Errorf("while the edge runs: %+v, error %v", info, err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err = x.Session("s")
	if err != nil || info.State != "closed" || info.Completeness.Damaged != 0 || info.Completeness.Tear != nil {
		t.Errorf("when it has stopped: %+v, error %v", info, err)
	}
}

// Readers of one Index and a writer do not disturb each other.
func TestIndexIsReadWhileAStoreWritesA6(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := OpenIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var group errgroup.Group
	const writers, crossings = 4, 50
	for w := range writers {
		group.Go(func() error {
			log, err := store.Session(fmt.Sprintf("s%d", w%2))
			for n := 0; err == nil && n < crossings; n++ {
				_, err = log.Append(t.Context(), CrossingEnded{delivered(fmt.Sprintf("http://a.test/%d/%d", w, n))})
			}
			return err
		})
	}
	for range 3 {
		group.Go(func() error {
			for range 30 {
				seen := 0
				for q := (Query{Limit: 40}); ; {
					page, err := x.Crossings(q)
					if err != nil || len(page.Faulty) > 0 {
						return fmt.Errorf("faulty %q: %w", page.Faulty, err)
					}
					if seen += len(page.Items); page.Next == "" {
						break
					}
					q.Cursor = page.Next
				}
				if _, err := x.Sessions(); err != nil || seen > writers*crossings {
					return fmt.Errorf("%d crossings: %w", seen, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := walkPages(t, x, Query{Limit: 7}, nil); len(got) != writers*crossings {
		t.Errorf("%d crossings, want %d", len(got), writers*crossings)
	}
}
