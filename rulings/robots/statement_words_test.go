package robots_test

import (
	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// The places of the names in a robots.Says.
const (
	trainAI = iota
	aiUse
	usageSearch
)

// readUsage reads the values of a file's Content-Usage lines. A path selects a
// line as a whole (T50), so each line that parses states every name.
func readUsage(f *robots.File) []robots.Says {
	says := make([]robots.Says, len(f.Directives(robots.ContentUsage)))
	for i, d := range f.Directives(robots.ContentUsage) {
		if v, ok := contentusage.Parse(d.Value); ok {
			says[i] = robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
				trainAI:     robots.Silent + robots.Statement(v.TrainAI),
				aiUse:       robots.Silent + robots.Statement(v.AIUse),
				usageSearch: robots.Silent + robots.Statement(v.Search),
			}}
		}
	}
	return says
}

func usageOf(s robots.Selection, p *robots.Page, says []robots.Says) contentusage.Value {
	stated := s.Statements(p, robots.ContentUsage, says)
	of := func(name int) contentusage.Preference {
		return contentusage.Preference(max(stated[name].Says, robots.Silent) - robots.Silent)
	}
	return contentusage.Value{TrainAI: of(trainAI), AIUse: of(aiUse), Search: of(usageSearch)}
}

// usageWords is what v says of each purpose (T46).
func usageWords(v contentusage.Value) map[string]string {
	index := "unknown"
	if v.AIUse == contentusage.Disallow {
		index = "disallow"
	}
	of := func(p contentusage.Preference) string { return word(robots.Silent + robots.Statement(p)) }
	return map[string]string{"ai-input": of(v.AIUse), "ai-train": of(v.TrainAI), "ai-index": index, "search": of(v.Search)}
}

const (
	signalSearch = iota
	aiInput
	aiTrain
	use
)

// readSignals reads the values of a file's Content-Signal lines, whose names are
// selected each for itself (T54).
func readSignals(f *robots.File) []robots.Says {
	says := make([]robots.Says, len(f.Directives(robots.ContentSignal)))
	for i, d := range f.Directives(robots.ContentSignal) {
		v := contentsignal.Parse(d.Value)
		says[i] = robots.Says{Usable: true, Names: [robots.MaxNames]robots.Statement{
			signalSearch: robots.Statement(v.Search),
			aiInput:      robots.Statement(v.AIInput),
			aiTrain:      robots.Statement(v.AITrain),
			use:          robots.Statement(v.Use),
		}}
	}
	return says
}

func signalOf(s robots.Selection, p *robots.Page, says []robots.Says) contentsignal.Value {
	stated := s.Statements(p, robots.ContentSignal, says)
	return contentsignal.Value{
		Search:  contentsignal.Preference(stated[signalSearch].Says),
		AIInput: contentsignal.Preference(stated[aiInput].Says),
		AITrain: contentsignal.Preference(stated[aiTrain].Says),
		Use:     contentsignal.Use(stated[use].Says),
	}
}

// signalWords is what v says of each purpose (T52, T53).
func signalWords(v contentsignal.Value) map[string]string {
	of := func(p contentsignal.Preference) string { return word(robots.Statement(p)) }
	words := map[string]string{"ai-input": of(v.AIInput), "ai-train": of(v.AITrain), "ai-index": "unknown", "search": of(v.Search)}
	if v.AIInput == contentsignal.Disallow || v.Use == contentsignal.Immediate {
		words["ai-index"] = "disallow"
	}
	if v.Use >= contentsignal.Reference {
		words["ai-train"] = "disallow"
	}
	return words
}

func word(s robots.Statement) string {
	switch {
	case s >= robots.Forbids:
		return "disallow"
	case s == robots.Allows:
		return "allow"
	}
	return "unknown"
}
