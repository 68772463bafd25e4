package terms

import (
	"context"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// tdmKind is the tdmrep.json of origins (T96).
var tdmKind = &kind{
	name:   rulings.TermTDM,
	dir:    "tdmrep",
	format: "wayleave-terms-tdmrep/1",
	target: rulings.TDMPath,
	judge:  func(a *answer) verdict { return judgeDocument(a, tdmMissing) },
	parse: func(body []byte) (document, string) {
		file, err := rulings.ParseTDM(body)
		if err != nil {
			return document{}, unread(rulings.CauseInvalid, "what stands there is no tdmrep.json")
		}
		return document{tdm: file}, ""
	},
	fits: func(v *visit) error { return fitsDocument(v, tdmMissing) },
}

// tdmMissing is how long it holds that an origin has no tdmrep.json (T96).
const tdmMissing = 24 * time.Hour

// Bounds of a shard in memory: 4,096 origins and 16 MiB in all.
const (
	tdmEntries = 128
	tdmOctets  = 512 << 10
)

// TDM returns the tdmrep.json of origin as it stands for a crossing that arrives
// now. It is asked for, shared and kept as robots.txt is, except that nothing is
// held of it when its life is over. One that could not be had or read is missing,
// unread or cut short, with the cause in our own words, and never refuses.
func (b *Book) TDM(ctx context.Context, origin hostkey.Origin) rulings.TDMTerms {
	f := b.tdm.get(ctx, place{origin: origin}, errand{})
	return f.tdmTerms()
}

// RefreshTDM asks origin again before its time and returns what then holds. When
// that fails, a live answer stays (T123).
func (b *Book) RefreshTDM(ctx context.Context, origin hostkey.Origin) rulings.TDMTerms {
	f := b.tdm.get(ctx, place{origin: origin}, errand{again: true})
	return f.tdmTerms()
}

// HeldTDM returns the live copy without asking; the second result is false when
// there is none, so that a crossing would have to ask.
func (b *Book) HeldTDM(origin hostkey.Origin) (rulings.TDMTerms, bool) {
	f, ok := b.tdm.held(place{origin: origin})
	return f.tdmTerms(), ok
}

func (f *found) tdmTerms() rulings.TDMTerms {
	return rulings.TDMTerms{Term: f.Term, File: f.tdm}
}
