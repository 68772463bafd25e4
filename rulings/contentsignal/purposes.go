package contentsignal

// Purposes is what a Value says of what an agent does with a page. In it a
// Preference is never Unstated.
type Purposes struct{ AIInput, AITrain, AIIndex, Search Preference }

// Purposes returns what v says of each purpose. ai-input=no forbids ai-index
// too, and ai-input=yes says nothing of it (specs: terms T52). use=immediate
// forbids to index and to train, use=reference to train, whatever else is
// allowed (T53, T7).
func (v Value) Purposes() Purposes {
	p := Purposes{
		AIInput: max(v.AIInput, Unknown),
		AITrain: max(v.AITrain, Unknown),
		AIIndex: Unknown,
		Search:  max(v.Search, Unknown),
	}
	if v.AIInput == Disallow || v.Use == Immediate {
		p.AIIndex = Disallow
	}
	if v.Use >= Reference {
		p.AITrain = Disallow
	}
	return p
}
