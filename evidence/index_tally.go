package evidence

// listed reports whether the payload's member name holds a list with items.
func (l *logLine) listed(name string) bool {
	raw := l.member(name)
	return len(raw) > 2 && raw[0] == '[' // the check took white space inside for content; the writer writes none
}

// add counts the record l.
func (t *tally) add(l *logLine) {
	if t.records == 0 {
		t.first = l.at
	}
	t.records++
	t.last = l.at
	switch l.event {
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		t.addFinal(l)
	case EventCrossingOpened:
		t.unended++
	case EventEvidenceGap:
		t.addGap(l)
	case "processor_invoked":
		t.addGaps(l)
	case "allowance_gap":
		t.gap("allowance_gap")
	case EventEdgeStarted:
		t.open(l.text("edge"))
	case EventEdgeStopped, EventSessionClosed:
		delete(t.windows, l.text("edge"))
	case EventSegmentOpened:
		t.addSegment(l)
	}
}

func (t *tally) addFinal(l *logLine) {
	grade, outcome := Grade(l.text("grade")), Outcome(l.text("outcome"))
	if t.crossings == nil {
		t.crossings = make(map[Grade]map[Outcome]int)
	}
	if t.crossings[grade] == nil {
		t.crossings[grade] = make(map[Outcome]int)
	}
	// What is folded into one record were that many crossings (E13).
	t.crossings[grade][outcome] += max(1, int(l.number("repeated")))
	if l.number("opened") > 0 {
		t.unended--
	}
	t.addGaps(l)
}

// addGaps counts the gaps that a record carries itself (E21).
func (t *tally) addGaps(l *logLine) {
	if !l.listed("gaps") {
		return
	}
	var gaps []struct{ Reason string }
	l.decode("gaps", &gaps)
	for _, g := range gaps {
		t.gap(g.Reason)
	}
}

// addGap counts a gap of the log itself (E20).
func (t *tally) addGap(l *logLine) {
	reason := l.text("reason")
	t.gap(reason)
	switch reason {
	case gapUncleanStop:
		delete(t.windows, l.text("of"))
	case gapUnfinishedCrossing:
		t.unended--
	}
}

// addSegment takes over what a reader must know whose log begins with a later
// segment, because the operator moved the earlier ones away (E63, E64).
func (t *tally) addSegment(l *logLine) {
	if t.records > 1 {
		return
	}
	var edges []string
	var crossings []uint64
	l.decode("open_edges", &edges)
	l.decode("open_crossings", &crossings)
	for _, edge := range edges {
		t.open(edge)
	}
	t.unended = len(crossings)
}

func (t *tally) open(edge string) {
	if t.windows == nil {
		t.windows = make(map[string]struct{})
	}
	t.windows[edge] = struct{}{}
}

func (t *tally) gap(reason string) {
	if t.gaps == nil {
		t.gaps = make(map[string]int)
	}
	t.gaps[reason]++
}
