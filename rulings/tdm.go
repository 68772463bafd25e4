package rulings

import (
	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/tdm"
)

// A TDMFile is a tdmrep.json with its patterns compiled. It never changes.
type TDMFile struct {
	file      *tdm.File
	locations []robots.Pattern // of the entries, in order
	length    int64            // of all of these, in octets
}

// ParseTDM reads a tdmrep.json (specs: terms T96). One that cannot be read
// states nothing.
func ParseTDM(body []byte) (*TDMFile, error) {
	file, err := tdm.Parse(body)
	if err != nil {
		return nil, err
	}
	f := &TDMFile{file: file}
	for _, entry := range file.Entries {
		location := robots.Compile(entry.Location)
		f.locations = append(f.locations, location)
		f.length += int64(location.Len())
	}
	return f, nil
}

// maxTDMWork bounds the octets compared for one file and one page, both lengths of
// each comparison (T40).
const maxTDMWork = 512_000_000

// reservation is that of the page: on each reading the first entry whose location
// matches decides, and a reservation on any reading holds (T38, T96). It is false
// for a page that would cost too much to compare.
func (f *TDMFile) reservation(page *robots.Page) (found tdm.Reservation, ok bool) {
	var work int64
	for _, reading := range page.Readings() {
		work += int64(len(f.locations))*int64(len(reading)) + f.length
	}
	if work > maxTDMWork {
		return tdm.Unset, false
	}
	for _, reading := range page.Readings() {
		for i := range f.locations {
			if f.locations[i].Match(reading) {
				found = max(found, f.file.Entries[i].Reservation)
				break
			}
		}
	}
	return found, true
}

// reservation rules the origin's tdmrep.json, which is asked for only if a
// declared purpose is bound by it (T8, T97).
func (d *decision) reservation() bool {
	if !d.bound() {
		return false
	}
	t := d.terms.TDM
	if t == nil {
		return d.need(Need{Kind: TermTDM})
	}
	if t.File == nil {
		if t.Outcome != TermMissing {
			d.gap(GapTDMUnread, "tdmrep.json was not read: "+t.Cause)
		}
		return false
	}
	found, ok := t.File.reservation(d.page)
	if !ok {
		d.gap(GapTDMUnread, "tdmrep.json and the path are too long to be compared")
		return false
	}
	from := len(d.ruling.Statements)
	d.reserve(found, t.Object)
	return d.ruleStatements(from)
}

// bound reports whether a declared purpose is bound by a reservation (T97).
func (d *decision) bound() bool {
	reserved := d.reserves()
	for _, purpose := range d.purposes {
		if reserved.For(purpose) == Disallow {
			return true
		}
	}
	return false
}

// reserves is what a reservation says (T97).
func (d *decision) reserves() Preferences {
	p := says(Disallow, AITrain, AIIndex)
	if d.policy.operator.tdmInput {
		p.Pool(says(Disallow, AIInput))
	}
	return p
}

// reserve adds the statement that r makes. No reservation is no permission.
func (d *decision) reserve(r tdm.Reservation, object Digest) {
	s := Statement{Source: FromTDM, Category: "tdm-reservation", Object: object}
	switch r {
	case tdm.Reserved:
		s.Preference, s.Says = Disallow, d.reserves()
	case tdm.NotReserved:
		s.Preference = Allow // recorded: it lifts nothing (T97)
	default:
		return
	}
	d.state(s)
}
