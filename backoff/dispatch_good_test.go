package backoff_test

import (
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// What another process recorded while a request was under way is reset by its good
// answer at the next look that this process has at it (P21); the wait itself binds.
func TestP21_AGoodAnswerResetsWhatAnotherProcessRecordedMeanwhile(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		other := backoff.NewDispatcher(s.store, backoff.Config{})
		slow, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(slow.Handed(s.Context()))
		time.Sleep(time.Second)
		failing, err := other.Go(s.Context(), s.request(0))
		s.must(err)
		_, err = failing.Answered(s.Context(), backoff.Answer{Status: 503})
		s.must(err)
		time.Sleep(time.Second)
		_, err = slow.Answered(s.Context(), backoff.Answer{Status: 200})
		s.must(err)
		until := s.store.Stored(host).Backoff.Until
		s.callers.Go(func() { s.carry(s.Context(), s.Dispatcher, 1, s.request(0)) })
		time.Sleep(time.Second)
		if state := s.store.Stored(host); state.Backoff.Failures != 0 || !state.Backoff.Until.Equal(until) || until.IsZero() {
			t.Errorf("after the good answer the state is %+v", state)
		}
	})
}

// A failure that comes after the good answer stays: that answer says nothing of it.
func TestP21_AGoodAnswerResetsNothingThatCameAfterIt(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		other := backoff.NewDispatcher(s.store, backoff.Config{})
		good, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		_, err = good.Answered(s.Context(), backoff.Answer{Status: 200})
		s.must(err)
		time.Sleep(time.Second)
		failing, err := other.Go(s.Context(), s.request(0))
		s.must(err)
		_, err = failing.Answered(s.Context(), backoff.Answer{Status: 503})
		s.must(err)
		time.Sleep(time.Second)
		s.callers.Go(func() { s.carry(s.Context(), s.Dispatcher, 1, s.request(0)) })
		time.Sleep(time.Second)
		if state := s.store.Stored(host); state.Backoff.Failures != 1 {
			t.Errorf("the state is %+v", state)
		}
	})
}

// A failure that this process recorded meanwhile is reset at once.
func TestP21_AGoodAnswerResetsWhatItsOwnProcessRecordedAtOnce(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		slow, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		failing, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		_, err = failing.Answered(s.Context(), backoff.Answer{Status: 503})
		s.must(err)
		_, err = slow.Answered(s.Context(), backoff.Answer{Status: 200})
		s.must(err)
		if state := s.store.Stored(host); state.Backoff.Failures != 0 || state.Backoff.Until.IsZero() {
			t.Errorf("the state is %+v", state)
		}
	})
}
