package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/wayleave/wayleave/evidence"
)

// A printer prints one record of a log.
type printer func(w io.Writer, session string, e evidence.Entry) error

func recordPrinter(asJSON bool) printer {
	if asJSON {
		return func(w io.Writer, _ string, e evidence.Entry) error {
			_, err := fmt.Fprintf(w, "%s\n", e.Line)
			return err
		}
	}
	return func(w io.Writer, _ string, e evidence.Entry) error {
		_, err := fmt.Fprintf(w, "%s  %d  %s%s\n", stamp(e), e.Seq, printable(e.Event), recordWords(e))
		return err
	}
}

const stampForm = "2006-01-02T15:04:05.000Z"

func stamp(e evidence.Entry) string { return e.Time.Format(stampForm) }

// printable keeps what a site or an agent chose from doing anything to a terminal.
func printable(s string) string {
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}

// recordWords says what a record tells of, with two spaces in front of each part.
func recordWords(e evidence.Entry) string {
	var b strings.Builder
	say := func(parts ...string) {
		for _, p := range parts {
			if p != "" {
				b.WriteString("  " + printable(p))
			}
		}
	}
	switch e.Event {
	case evidence.EventEvidenceGap:
		say(e.Text("reason"), e.Text("of"), e.Text("detail"))
	case evidence.EventCrossingUndelivered:
		say("crossing " + strconv.FormatUint(e.Uint("crossing"), 10))
	case evidence.EventEdgeStarted, evidence.EventEdgeStopped, evidence.EventSessionClosed:
		say(e.Text("edge"), e.Text("reason"))
	case evidence.EventSegmentOpened:
		say("segment " + strconv.FormatUint(e.Uint("segment"), 10))
	default:
		var refusal struct{ Reason string }
		e.Decode("refusal", &refusal)
		status := ""
		if n := e.Uint("http_status"); n > 0 {
			status = strconv.FormatUint(n, 10)
		}
		say(e.Text("method"), cmp.Or(e.Text("url"), e.Text("authority")), e.Text("outcome"), status, refusal.Reason)
		if n := len(entryGaps(e)); n > 0 {
			say(fmt.Sprintf("%d gaps", n))
		}
	}
	return b.String()
}

// A gapLine is what `log gaps --json` prints a line of for each gap.
type gapLine struct {
	Session  string `json:"session"`
	Segment  int    `json:"segment"`
	Line     int    `json:"line"`
	Time     string `json:"time"`
	Crossing uint64 `json:"crossing,omitempty"` // the gap is this crossing's, else the log's own
	Reason   string `json:"reason"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// entryGaps returns the gaps that a record carries itself.
func entryGaps(e evidence.Entry) (gaps []struct{ Reason, Detail string }) {
	e.Decode("gaps", &gaps)
	return gaps
}

// gapsOf returns the gaps that a record tells of, of both kinds (E22).
func gapsOf(session string, e evidence.Entry) (list []gapLine) {
	g := gapLine{Session: session, Segment: e.Segment, Line: e.Number, Time: stamp(e)}
	g.From, g.To = e.Text("from"), e.Text("to")
	switch e.Event {
	case evidence.EventEvidenceGap:
		g.Reason, g.Detail, g.Crossing = e.Text("reason"), e.Text("detail"), e.Uint("crossing")
		return append(list, g)
	case evidence.EventAllowanceGap:
		g.Reason = e.Event // its own says what happened, in a sentence
		g.Detail = fmt.Sprintf("allowance %s, reservation %s: %s", e.Text("allowance"), e.Text("reservation"), e.Text("reason"))
		return append(list, g)
	}
	for _, own := range entryGaps(e) {
		g.Reason, g.Detail = own.Reason, own.Detail
		g.Crossing = cmp.Or(e.Uint("opened"), e.Seq)
		list = append(list, g)
	}
	return list
}

// gapPrinter prints each gap once: what a crossing_opened tells of, the record of
// the crossing's end tells again.
func gapPrinter(asJSON bool) printer {
	type crossing struct {
		session string
		opened  uint64
	}
	told := map[crossing][]gapLine{} // of crossings that were opened and did not end yet
	return func(w io.Writer, session string, e evidence.Entry) error {
		gaps, ends := gapsOf(session, e), crossing{session, e.Uint("opened")}
		for _, g := range gaps {
			if slices.ContainsFunc(told[ends], func(t gapLine) bool { return t.Reason == g.Reason && t.Detail == g.Detail }) {
				continue
			}
			if err := printGap(w, g, asJSON); err != nil {
				return err
			}
		}
		delete(told, ends)
		if e.Event == evidence.EventCrossingOpened && len(gaps) > 0 {
			told[crossing{session, e.Seq}] = gaps
		}
		return nil
	}
}

func printGap(w io.Writer, g gapLine, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(g)
	}
	of := g.Session
	if g.Crossing != 0 {
		of += "/" + strconv.FormatUint(g.Crossing, 10)
	}
	_, err := fmt.Fprintf(w, "%s  %s  %s  %s\n", g.Time, of, printable(g.Reason), printable(g.Detail))
	return err
}
