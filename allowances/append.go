package allowances

import (
	"cmp"
	"io"
	"slices"
)

// append writes records behind the last line, in one call, and returns when they
// are on disk. Where it fails the descriptor is given up; reached says that the
// file may hold some of it all the same.
func (b *book) append(records ...record) (reached bool, err error) {
	var buf []byte
	if b.ragged {
		buf = append(buf, '\n')
	}
	if len(b.torn) > 0 {
		records = slices.Insert(slices.Clone(records), 0, record{Event: eventTorn, At: b.now, Edge: b.l.edge, Torn: b.torn})
	}
	var lengths []int
	for _, r := range records {
		before := len(buf)
		buf = r.encode(buf)
		lengths = append(lengths, len(buf)-before-1)
	}
	n, err := b.write(buf)
	if err != nil {
		b.cut = b.torn
		b.drop()
		return n > 0, err
	}
	if b.ragged {
		b.scan.lines++
	}
	for i, r := range records {
		b.scan.lines++
		if err := b.scan.take(r, lengths[i], b.view); err != nil {
			return true, err
		}
	}
	b.had = true
	b.size += int64(len(buf))
	b.scan.offset, b.ragged, b.torn, b.cut = b.size, false, nil, nil
	return true, nil
}

// write does the calls of an append in the order of E26. A crash between the first
// and the last of them leaves any part of buf in the file, the last line perhaps
// torn; nobody acts on a line before all of them have succeeded.
func (b *book) write(buf []byte) (n int, err error) {
	if n, err = b.file.Write(buf); err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = b.file.Sync()
	}
	if err == nil && !b.named {
		err = b.file.SyncDir()
	}
	b.named = b.named || err == nil
	return n, err
}

// findLost returns the lines that say whose edge died with a reservation, and the
// gaps to tell of when they are on disk (O34). Who finds a line of an edge it knows
// to be dead appends it under the lock, so that it is told of once.
func (b *book) findLost() (lost []record, gaps []Gap) {
	if b.l.o.Alive == nil {
		return nil, nil
	}
	alive := map[string]bool{b.l.edge: true}
	for id, o := range b.view.open {
		if o.lost {
			continue
		}
		if _, known := alive[o.edge]; !known {
			alive[o.edge] = b.l.o.Alive(o.edge)
		}
		if alive[o.edge] {
			continue
		}
		lost = append(lost, record{Event: eventLost, At: b.now, Edge: b.l.edge, Reservation: id, ReservedAt: o.at})
		gaps = append(gaps, Gap{Allowance: b.name, Reservation: id, Crossing: o.crossing, From: o.at, To: b.now,
			Reason: "edge " + o.edge + " died with the reservation, which counts in full"})
	}
	slices.SortFunc(lost, func(a, b record) int { return cmp.Compare(a.Reservation, b.Reservation) })
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.Reservation, b.Reservation) })
	return lost, gaps
}
