package pagetext

// A foreignElement is one that decides whether HTML's rules hold or those for
// svg and math: one of foreignNames.
type foreignElement uint8

const (
	none foreignElement = iota
	svg
	math
)

// foreignNames has svg and math, and behind them the elements in which HTML may
// stand again.
var foreignNames = append([]string{none: "", svg: "svg", math: "math"}, points...)

var foreignElements = func() map[string]foreignElement {
	all := make(map[string]foreignElement)
	for i, name := range foreignNames[1:] {
		all[name] = foreignElement(1 + i)
	}
	return all
}()

func foreignOf(name []byte) foreignElement { return foreignElements[string(name)] }

// rootOf is foreignOf for svg and math alone.
func rootOf(name []byte) foreignElement {
	switch string(name) {
	case "svg":
		return svg
	case "math":
		return math
	}
	return none
}

// foreign is what stands open of svg, math and the elements in them in which HTML
// may stand.
type foreign struct {
	stack []foreignElement
	open  [16]int // how many of each are in stack
}

// inside reports that the next tag stands directly in svg or math.
func (f *foreign) inside() bool {
	n := len(f.stack)
	return n > 0 && (f.stack[n-1] == svg || f.stack[n-1] == math)
}

func (f *foreign) enter(e foreignElement) {
	if e != none {
		f.stack = append(f.stack, e)
		f.open[e]++
	}
}

func (f *foreign) pop() (e foreignElement) {
	n := len(f.stack) - 1
	e, f.stack = f.stack[n], f.stack[:n]
	f.open[e]--
	return e
}

// leave goes out of svg and math to where HTML stands.
func (f *foreign) leave() {
	for f.inside() {
		f.pop()
	}
}

// leaveElement goes out of the innermost e with all that is open in it. It reports
// false where none is open. What it pops was pushed, so that many end tags take
// no longer than as many start tags.
func (f *foreign) leaveElement(e foreignElement) bool {
	if e == none || f.open[e] == 0 {
		return false
	}
	for f.pop() != e {
	}
	return true
}
