package contentusage

// Purposes is what a Value says of what an agent does with a page.
type Purposes struct{ AIInput, AITrain, AIIndex, Search Preference }

// Purposes returns what v says of each purpose. ai-use=n forbids ai-index too,
// because an index kept for a model is input to one; ai-use=y says nothing of it
// (specs: terms T46).
func (v Value) Purposes() Purposes {
	p := Purposes{AIInput: v.AIUse, AITrain: v.TrainAI, Search: v.Search}
	if v.AIUse == Disallow {
		p.AIIndex = Disallow
	}
	return p
}
