package rulings

// A StatementSource says in which vocabulary a statement was made.
type StatementSource string

const (
	FromContentUsage  StatementSource = "content_usage"    // AIPREF, by a line or a field
	FromContentSignal StatementSource = "content_signal"   // contentsignals.org, by a line or a field
	FromAITraining    StatementSource = "ai_training_rule" // a line of robots.txt, or a robots tag
	FromTDM           StatementSource = "tdm"              // TDMRep, by file, field or meta element
	FromRobotsTag     StatementSource = "robots_tag"       // X-Robots-Tag, or a meta element
)

// reason is the code with which a statement of s refuses.
func (s StatementSource) reason() Reason {
	switch s {
	case FromContentUsage:
		return ContentUsage
	case FromContentSignal:
		return ContentSignal
	case FromAITraining:
		return AITrainingRule
	case FromTDM:
		return TDMReserved
	case FromRobotsTag:
		return NoAI
	}
	return UndecidedReason
}

// A Statement is one source's word as it was met (E17).
type Statement struct {
	Source     StatementSource
	Category   string // the word of the vocabulary, such as "ai-use" or "noai"
	Preference Preference
	Object     Digest // the term in which it stands; zero when its bytes are not kept
	Line       int    // of robots.txt, from 1; 0 elsewhere

	// Says is what it comes to for each purpose (T107).
	Says Preferences
}

// says makes preferences that say p of each of the given purposes.
func says(p Preference, of ...Purpose) (all Preferences) {
	for _, purpose := range of {
		all[purpose.index()] = p
	}
	return all
}
