package rulings

import (
	"cmp"
	"slices"

	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// robotsStatements rules what robots.txt states of the purposes (T8, stage 3):
// Content-Usage, Content-Signal, then the AI-training rules, each in document
// order.
func (d *decision) robotsStatements() bool {
	t := &d.terms.Robots
	if !t.Site.States(robots.ContentUsage, robots.ContentSignal, robots.DisallowAITraining, robots.AllowAITraining) {
		return false
	}
	usage := d.selection.Statements(d.page, robots.ContentUsage, t.Site.usage)
	d.stateLines(usage[:], usageStatement, t.Object)
	if t.Site.others != nil {
		d.otherLines(t)
	}
	signal := d.selection.Statements(d.page, robots.ContentSignal, t.Site.signal)
	d.stateLines(signal[:], signalStatement, t.Object)
	training := [1]robots.Stated{d.selection.Training(d.page)}
	d.stateLines(training[:], trainingStatement, t.Object)
	return d.ruleStatements(0)
}

// stateLines adds the statements that lines of robots.txt make, in document order.
func (d *decision) stateLines(stated []robots.Stated, statement func(name int, says robots.Statement) Statement, object Digest) {
	from := len(d.ruling.Statements)
	for name, s := range stated {
		if s.Says < robots.Allows {
			continue
		}
		made := statement(name, s.Says)
		made.Object, made.Line = object, s.Line
		d.state(made)
	}
	slices.SortStableFunc(d.ruling.Statements[from:], func(a, b Statement) int { return cmp.Compare(a.Line, b.Line) })
}

// maxOthers is how many names that rule nothing are recorded of a page.
const maxOthers = 16

// otherLines records the names of Content-Usage lines that rule nothing (T46).
func (d *decision) otherLines(t *RobotsTerms) {
	room := maxOthers
	for _, line := range d.selection.Selecting(d.page, robots.ContentUsage, t.Site.usage) {
		others := t.Site.others[line.Index]
		others = others[:min(len(others), room)]
		room -= len(others)
		d.others(others, t.Object, line.Line.Number)
	}
}

// others records names of Content-Usage that rule nothing (T46).
func (d *decision) others(names []string, object Digest, line int) {
	for _, name := range names {
		d.state(Statement{Source: FromContentUsage, Category: name, Object: object, Line: line})
	}
}

// usage adds the statements of a Content-Usage field.
func (d *decision) usage(v contentusage.Value, object Digest) {
	for name, p := range [...]contentusage.Preference{usageTrain: v.TrainAI, usageUse: v.AIUse, usageSearch: v.Search} {
		if p != contentusage.Unknown {
			s := usageStatement(name, robots.Silent+robots.Statement(p))
			s.Object = object
			d.state(s)
		}
	}
	d.others(v.Others, object, 0)
}

// signal adds the statements of a Content-Signal field.
func (d *decision) signal(v contentsignal.Value, object Digest) {
	for name, says := range [...]robots.Statement{
		signalSearch: robots.Statement(v.Search), signalInput: robots.Statement(v.AIInput),
		signalTrain: robots.Statement(v.AITrain), signalUse: useSays(v.Use),
	} {
		if says >= robots.Allows {
			s := signalStatement(name, says)
			s.Object = object
			d.state(s)
		}
	}
}

// preferenceOf is what a line says in the words of a ruling.
func preferenceOf(says robots.Statement) Preference {
	switch {
	case says >= robots.Forbids:
		return Disallow
	case says == robots.Allows:
		return Allow
	}
	return Unknown
}

// usageStatement is what Content-Usage says by one of its names (T46).
func usageStatement(name int, of robots.Statement) Statement {
	s := Statement{Source: FromContentUsage, Preference: preferenceOf(of)}
	switch name {
	case usageTrain:
		s.Category, s.Says = "train-ai", says(s.Preference, AITrain)
	case usageUse:
		s.Category, s.Says = "ai-use", inputSays(s.Preference)
	case usageSearch:
		s.Category, s.Says = "search", says(s.Preference, Search)
	}
	return s
}

// signalStatement is what Content-Signal says by one of its names (T52, T53).
func signalStatement(name int, of robots.Statement) Statement {
	s := Statement{Source: FromContentSignal, Preference: preferenceOf(of)}
	switch name {
	case signalSearch:
		s.Category, s.Says = "search", says(s.Preference, Search)
	case signalInput:
		s.Category, s.Says = "ai-input", inputSays(s.Preference)
	case signalTrain:
		s.Category, s.Says = "ai-train", says(s.Preference, AITrain)
	case signalUse:
		switch contentsignal.Use(of) {
		case contentsignal.Reference:
			s.Category, s.Says = "use=reference", says(Disallow, AITrain)
		case contentsignal.Immediate:
			s.Category, s.Says = "use=immediate", says(Disallow, AITrain, AIIndex)
		}
	}
	return s
}

// inputSays is what a word on input to a model says: forbidding it forbids an
// index that is kept for a model, and allowing it says nothing of one.
func inputSays(p Preference) Preferences {
	if p == Disallow {
		return says(p, AIInput, AIIndex)
	}
	return says(p, AIInput)
}

// trainingStatement is what an AI-training rule says (T99).
func trainingStatement(_ int, of robots.Statement) Statement {
	s := Statement{Source: FromAITraining, Category: "disallowaitraining", Preference: preferenceOf(of)}
	if s.Preference == Allow {
		s.Category = "allowaitraining"
	}
	s.Says = says(s.Preference, AITrain)
	return s
}
