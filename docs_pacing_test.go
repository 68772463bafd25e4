package wayleave_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// pacingPage shows in tables what becomes of a host. A row is a name, what
// happens, and what holds then. What happens is a list of events, each in
// backquotes, and may begin with the name of a row that it goes on from:
//
//	3 asks                      a request, 3 s after the beginning
//	3 A asks                    one that is called A
//	3 asks behind 2 licences    one behind licences that must be read first
//	3 503 [Retry-After: VALUE]  an answer
//	3 A 200                     the answer to A
//	3 nothing, 3 A nothing      the end of a request without an answer
//	3 later                     nothing happens
const pacingPage = "docs/pacing.md"

const (
	turnTable    = "| | `Crawl-delay` | what happens | the last request |"
	backoffTable = "| | what happens | failures | by | nothing is sent before | held | the next request |"
)

func TestPacingExamplesOfTurnsP8P14(t *testing.T) {
	rows := pacingRows(t, turnTable)
	if len(rows) < 10 {
		t.Fatalf("%s has only %d examples of turns", pacingPage, len(rows))
	}
	known := map[string]*pacedHost{}
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			h := newPacedHost(row[1])
			if err := h.live(row[2], known); err != nil {
				t.Fatal(err)
			}
			if h.last != row[3] {
				t.Errorf("%s of a host with Crawl-delay %s: promised that the last request %s, it %s", row[2], row[1], row[3], h.last)
			}
			known[row[0]] = h
		})
	}
}

func TestPacingExamplesOfFailuresP16ToP27(t *testing.T) {
	rows := pacingRows(t, backoffTable)
	if len(rows) < 16 {
		t.Fatalf("%s has only %d examples of failures", pacingPage, len(rows))
	}
	known := map[string]*pacedHost{}
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			h := newPacedHost("")
			if err := h.live(row[1], known); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row[2:], h.binds()); diff != "" {
				t.Errorf("%s: promised (-), computed (+)\n%s", row[1], diff)
			}
			known[row[0]] = h
		})
	}
	for name := 'a'; name <= 'p'; name++ {
		if known[string(name)] == nil {
			t.Errorf("%s has no example %c", pacingPage, name)
		}
	}
}

func TestPacingExamplesThatNobodyCanCheckAreErrors(t *testing.T) {
	for _, happens := range []string{
		"", "`asks`", "`0`", "`0 sleeps`", "`0 2000`", "`0 503` `1 teapot`", "z, `0 503`", "`5 503` `4 200`", "`0 A asks` `1 B asks`", "0 503",
		"`0 503 Retry-After`", "`0 503` and so on", "`0 asks behind two licences`",
	} {
		if err := newPacedHost("2").live(happens, map[string]*pacedHost{}); err == nil {
			t.Errorf("%q is read as if it were checked", happens)
		}
	}
}

// What the page shows an agent reading is what the facts of the reason are.
func TestPacingPageShowsARefusalAsItIs(t *testing.T) {
	_, text, _ := strings.Cut(read(t, pacingPage), "\n```json\n")
	text, _, _ = strings.Cut(text, "```")
	var shown struct {
		Type, Title, Detail, Crossing string
		Status                        int
		Reason                        rulings.Reason
		Whose                         rulings.Whose
		RetryAt                       time.Time `json:"retry_at"`
	}
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	facts := shown.Reason.Facts()
	if shown.Title != facts.Title || shown.Status != facts.Status || shown.Whose != facts.Whose || shown.Type != proxy.RefusalDocs+string(shown.Reason)+".md" {
		t.Errorf("it shows %+v, the facts are %+v", shown, facts)
	}
	if shown.RetryAt.IsZero() || !strings.Contains(shown.Detail, shown.RetryAt.Format(time.RFC3339)) || shown.Crossing == "" {
		t.Errorf("it shows %+v", shown)
	}
}

// pacingRows returns the cells of every row under a heading.
func pacingRows(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	inside := false
	for l := range strings.Lines(read(t, pacingPage)) {
		l = strings.TrimSpace(l)
		switch {
		case l == heading:
			inside = true
		case !strings.HasPrefix(l, "|"):
			inside = false
		case inside && !strings.HasPrefix(l, "|---"):
			cells := strings.Split(strings.Trim(l, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if len(cells) != strings.Count(heading, "|")-1 {
				t.Fatalf("a row of %d cells: %s", len(cells), l)
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// A pacedHost is a host to which things happen.
type pacedHost struct {
	delay backoff.Delay
	state backoff.State
	now   time.Time
	last  string // what became of the last request
}

var (
	pacingBegin = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	pacing      = backoff.Config{}.WithDefaults()
	paceEvent   = regexp.MustCompile(`^([\d.]+)(?: ([A-Z]))? (asks|nothing|later|[1-5]\d\d)(?: behind (\d+) licences?)?$`)
	paceStart   = regexp.MustCompile("^(?:([a-z0-9]+), )?((?:`[^`]+` ?)+)$")
)

func newPacedHost(stated string) *pacedHost {
	h := &pacedHost{state: backoff.State{Host: "example.com"}, now: pacingBegin}
	d := robots.Parse([]byte("User-agent: *\nCrawl-delay: "+strings.Trim(stated, "`")+"\n")).Select([]string{"wayleave"}, "").Delay()
	if d.Known {
		h.delay = pacing.Rules().Honour(d.Milliseconds, d.Written)
	}
	return h
}

// live lets happen what is written, after what happened in the row it goes on
// from.
func (h *pacedHost) live(happens string, known map[string]*pacedHost) error {
	parts := paceStart.FindStringSubmatch(happens)
	if parts == nil {
		return fmt.Errorf("not a list of events: %q", happens)
	}
	if parts[1] != "" {
		before := known[parts[1]]
		if before == nil {
			return fmt.Errorf("no row %s stands above", parts[1])
		}
		*h = *before
	}
	for _, event := range quoted.FindAllStringSubmatch(parts[2], -1) {
		if err := h.happen(event[1]); err != nil {
			return fmt.Errorf("%s: %w", event[1], err)
		}
	}
	return nil
}

func (h *pacedHost) happen(event string) error {
	event, value, _ := strings.Cut(event, " Retry-After: ")
	m := paceEvent.FindStringSubmatch(event)
	if m == nil {
		return errors.New("not an event")
	}
	at, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return err
	}
	now := pacingBegin.Add(time.Duration(at * float64(time.Second)))
	if now.Before(h.now) {
		return errors.New("before what happened last")
	}
	h.now = now
	switch who, what := m[2], m[3]; {
	case what == "later":
		return nil
	case what != "asks":
		status, _ := strconv.Atoi(what) // 0 for nothing
		a := backoff.Answer{Status: status, Paced: h.delay.Honoured > 0, Reservation: who}
		if value != "" {
			a.RetryAfter = []string{value}
		}
		h.state, _ = pacing.Rules().Answered(h.state, now, a)
		return nil
	case who != "":
		return h.reserve(who)
	case m[4] != "":
		licences, _ := strconv.Atoi(m[4])
		h.last = h.behind(licences)
	default:
		h.last = h.turn()
	}
	return nil
}

// turn takes the next turn and says what that comes to.
func (h *pacedHost) turn() string {
	var turn backoff.Turn
	h.state, turn = pacing.Rules().Turn(h.state, h.now, h.delay.Honoured, pacing.MaxWait)
	switch turn.Outcome {
	case backoff.Clear:
		return "goes"
	case backoff.Waited:
		return "waits " + inSeconds(turn.Wait)
	}
	return "is refused for " + inSeconds(turn.Wait)
}

// behind says what comes of a page behind licences.
func (h *pacedHost) behind(licences int) string {
	fit := pacing.Rules().Fit(h.state, h.now, h.delay.Honoured, licences, pacing.MaxWait)
	switch fit.Outcome {
	case backoff.Fits:
		return fmt.Sprintf("reads %d, waits %s", fit.Reads, inSeconds(fit.Need))
	case backoff.LicencesAlone:
		return fmt.Sprintf("reads %d, is refused for %s", fit.Reads, inSeconds(fit.Need))
	}
	return "is refused for " + inSeconds(fit.Pending)
}

// reserve lets who have the host.
func (h *pacedHost) reserve(who string) error {
	if step := h.state.Next(h.now, who, pacing.MaxWait).Step; step != backoff.StepReserve {
		return fmt.Errorf("%s does not hold the host but would %s", who, step)
	}
	var ok bool
	if h.state, _, ok = pacing.Rules().Reserve(h.state, h.now, h.state, backoff.Sender{ID: who}, pacing.HeadTimeout); !ok {
		return fmt.Errorf("%s is not given the host", who)
	}
	return nil
}

// binds says what holds: failures, by, nothing is sent before, held, the next
// request.
func (h *pacedHost) binds() []string {
	cells := []string{"", "", "", "", ""}
	if b := h.state.Backoff; !b.Until.IsZero() {
		cells[0], cells[1], cells[2] = strconv.Itoa(b.Failures), strconv.Itoa(b.Status), inSeconds(b.Until.Sub(pacingBegin))
	}
	if h.state.Reserved(h.now) {
		cells[3] = h.state.Reservation.ID + " to " + inSeconds(h.state.Reservation.Deadline.Sub(pacingBegin))
	}
	switch next := h.state.Next(h.now, "", pacing.MaxWait); next.Step {
	case backoff.StepGo:
		cells[4] = "goes"
	case backoff.StepReserve:
		cells[4] = "goes, alone"
	case backoff.StepWait:
		cells[4] = "waits " + inSeconds(next.Wait)
	case backoff.StepHeld:
		cells[4] = "waits for " + h.state.Reservation.ID
	case backoff.StepRefuse:
		cells[4] = "is refused for " + inSeconds(next.Wait)
	}
	return cells
}

func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
