package proxy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/bodytype"
	"github.com/wayleave/wayleave/rulings/injection"
	"github.com/wayleave/wayleave/rulings/pagetext"
	"github.com/wayleave/wayleave/rulings/pii"
)

// A screen looks at what an agent would receive. Its functions may be called by
// any number of goroutines.
type screen struct {
	name          string
	configuration rulings.Digest // of its whole rule text (O43)
	blind         []string
	reason        rulings.Reason // of the breach that a match is
	scan          func(text []byte) (found []evidence.Match, more bool)
}

// A toolbox is what an edge screens with. A test puts in tools that fail.
type toolbox struct {
	pii, injection screen
	extract        func(page []byte) []byte
}

// screenVersion is that of all tools: what they do is named by their digests.
const screenVersion = "1"

func newToolbox() toolbox {
	return toolbox{
		pii: screen{"pii", pii.Digest(), pii.Blind(), rulings.PIIFound, func(text []byte) (found []evidence.Match, more bool) {
			list, more := pii.Scan(text)
			for _, f := range list {
				found = append(found, evidence.Match{Rule: f.Category, Start: f.Start, End: f.End})
			}
			return found, more
		}},
		injection: screen{"injection", injection.Digest(), injection.Blind(), rulings.InjectionScreen, func(text []byte) (found []evidence.Match, more bool) {
			list, more := injection.Scan(text)
			for _, f := range list {
				found = append(found, evidence.Match{Rule: f.Rule, Start: f.Start, End: f.End})
			}
			return found, more
		}},
		extract: pagetext.Extract,
	}
}

// of returns the screens that s has on, in the order in which they run (O41).
func (t *toolbox) of(s rulings.Screens) (list []*screen) {
	if s.PII {
		list = append(list, &t.pii)
	}
	if s.Injection {
		list = append(list, &t.injection)
	}
	return list
}

// An abstention is why a screen cannot say what a body holds.
type abstention struct {
	why        string
	dependency bool // for want of something that the edge needs (O45)
}

func (a abstention) reason() string {
	if a.dependency {
		return evidence.DependencyUnavailable
	}
	return evidence.CapabilityUnavailable
}

func unreadable(why bodytype.Reason) abstention {
	return abstention{why: "the screens do not read it: " + string(why)}
}

// abstain records that no screen can say what the body holds, which is a breach of
// its own (O44). Text that was to be taken out is not, and the body is delivered
// as served (O49).
func (m *measured) abstain(stage rulings.Stage, a abstention) (refused bool) {
	if m.screens.Extract {
		m.record(evidence.ProcessorInvoked{Name: extraction, Configuration: pagetext.Digest(), Stage: evidence.StageTransform,
			Decision: evidence.DecisionAbstain, Gaps: []evidence.Gap{{Reason: a.reason(), Detail: a.why}}})
	}
	screens := m.x.edge.tools.of(m.screens)
	if len(screens) == 0 {
		m.x.gap(a.reason(), a.why)
		return false
	}
	for _, s := range screens {
		m.abstained(s, a)
	}
	return m.breach(stage, unscreened(a))
}

// abstained records that one screen could not say what the body holds.
func (m *measured) abstained(s *screen, a abstention) {
	m.record(evidence.ProcessorInvoked{Name: s.name, Configuration: s.configuration, Stage: evidence.StageScreen,
		Decision: evidence.DecisionAbstain, Gaps: []evidence.Gap{{Reason: a.reason(), Detail: a.why}}, Blind: s.blind})
}

func unscreened(a abstention) rulings.Breach {
	return rulings.Breach{Reason: rulings.Unscreened, Gap: a.reason(), Detail: a.why,
		Told: rulings.Say("The operator wants answers to be screened, and this one cannot be.")}
}

func (m *measured) record(p evidence.ProcessorInvoked) {
	p.Version = screenVersion
	if p.StartedAt.IsZero() {
		p.StartedAt = time.Now()
	}
	m.x.processors = append(m.x.processors, p)
}

// byContent reads the body and rules what it holds (O14, step 9). It is false when
// the body could not be read whole and is let pass all the same.
func (m *measured) byContent() (ruled bool) {
	x := m.x
	h := m.hold()
	read := time.Now()
	defer func() {
		x.rec.Timings.Screen = time.Since(read)
		x.watch.aside += x.rec.Timings.Screen
	}()
	switch {
	case h.broken() && !isUnusable(h.fault):
		x.cut = h.fault // nothing of it was released, and nothing is
		return true
	case h.content == nil:
		return m.unread(&h)
	}
	kind := m.kind.ByContent(h.content)
	if m.blank(h.content) || m.overCap(int64(len(h.content))) {
		return true
	}
	delivered, text := h.content, part{}
	if m.screens.On() {
		if !kind.Readable() {
			if m.abstain(rulings.StageBody, unreadable(kind.Reason)) {
				return true
			}
		} else if text = m.screen(&h, kind); x.ruling.Refused() {
			return true
		}
	}
	if text.Of != "" {
		delivered = text.text
	}
	if m.blank(delivered) || m.counted && m.reserve(int64(len(delivered))) {
		return true
	}
	if text.Of != "" {
		m.deliverText(&h, text)
	}
	return true
}

// unread rules a body of which the content is not known as a whole: by what is
// known of its size, and as one that no screen has seen. It is true when the body
// is refused, or is all there and was counted as it was served.
func (m *measured) unread(h *held) (ruled bool) {
	if isUnusable(h.fault) {
		return false // delivery says so
	}
	size, all := h.size(m.x.policy.Screens.Limit)
	if m.overCap(size) {
		return true
	}
	if m.screens.On() && m.abstain(rulings.StageBody, h.unheld()) {
		return true
	}
	switch {
	case !m.counted:
		return all
	case all:
		m.reserve(size)
		return true
	}
	return !m.fits(size)
}

// blank refuses what is to ground an answer and has no text (O37).
func (m *measured) blank(content []byte) (refused bool) {
	return m.grounds() && bodytype.Blank(content) && m.breach(rulings.StageBody, noText())
}

// overCap refuses content over the cap, unless the head was ruled for that (O35).
func (m *measured) overCap(size int64) (refused bool) {
	if m.cap == 0 || size <= m.cap || m.capBroken {
		return false
	}
	m.capBroken = true
	return m.breach(rulings.StageBody, overCap(size, m.cap))
}

// A part is one form of a body that is screened (O42).
type part struct {
	evidence.BodyPart
	text []byte
}

func partOf(of string, text []byte) part {
	return part{evidence.BodyPart{Of: of, Hash: sha256.Sum256(text), Bytes: int64(len(text))}, text}
}

// Names of the parts of a body, and of what takes its text out.
const (
	ofRetrieved = "retrieved"
	ofContent   = "content"
	ofText      = "text"
	extraction  = "extraction"
)

// screen runs the screens on the content and, of HTML, on the text in it (O42). It
// returns the text where that is to be delivered in place of the page, else no part.
//
// As many run at once as there are processors: the text of a page may be three
// times the page, and some pages take much memory to read.
func (m *measured) screen(h *held, kind bodytype.Verdict) (text part) {
	m.x.edge.looking <- struct{}{}
	defer func() { <-m.x.edge.looking }()
	parts := []part{m.contentPart(h)}
	if kind.Kind == bodytype.HTML {
		if extracted, ok := m.extract(h, parts[0]); ok {
			parts = append(parts, extracted)
			if m.screens.Extract && m.extractable(h) {
				text = extracted
			}
		} else if m.x.ruling.Refused() {
			return part{}
		}
	} else if m.screens.Extract {
		m.x.gap(evidence.CapabilityUnavailable, "only the text of HTML is taken out")
	}
	for _, s := range m.x.edge.tools.of(m.screens) {
		m.look(s, parts)
	}
	return text
}

// contentPart is the content as a part. Where it is not coded, its sum is that of
// the body as served.
func (m *measured) contentPart(h *held) part {
	if !identity(m.x.rec.ContentCoding) {
		return partOf(ofContent, h.content)
	}
	m.x.sum, m.x.summed = h.sum(), true
	return part{evidence.BodyPart{Of: ofContent, Hash: h.sum(), Bytes: int64(len(h.content))}, h.content}
}

// extractable reports whether the page's text may be delivered in its place: one
// that is said to be in another charset than UTF-8 would lose letters (O49), and what
// its source marks as no-transform is not to be changed (RFC 9110, section 7.7).
func (m *measured) extractable(h *held) bool {
	why := ""
	switch {
	case httpguts.HeaderValuesContainsToken(m.resp.Header["Cache-Control"], "no-transform"):
		why = "the source lets nobody transform the page, so its text was not taken out"
	case !utf8.Valid(h.content) && bodytype.OtherCharset(m.head.Types, h.content):
		why = "the page is not in UTF-8, so its text was not taken out"
	default:
		return true
	}
	m.x.gap(evidence.CapabilityUnavailable, why)
	return false
}

// extract takes the text out of an HTML page. A page of which it cannot be taken
// is one that the screens have not seen.
func (m *measured) extract(h *held, page part) (text part, ok bool) {
	start := time.Now()
	in := []evidence.BodyPart{page.BodyPart}
	if identity(m.x.rec.ContentCoding) {
		in[0].Of = ofRetrieved
	} else {
		in = append([]evidence.BodyPart{{Of: ofRetrieved, Hash: h.sum(), Bytes: int64(len(h.raw))}}, in...)
	}
	p := evidence.ProcessorInvoked{Name: extraction, Configuration: pagetext.Digest(), Stage: evidence.StageTransform,
		Decision: evidence.DecisionAdmit, Inputs: in, StartedAt: start}
	fault := m.x.edge.run(len(page.text), func() { text = partOf(ofText, m.x.edge.tools.extract(page.text)) })
	p.Elapsed = time.Since(start)
	if fault != "" {
		a := abstention{fault, true}
		p.Decision, p.Gaps = evidence.DecisionAbstain, []evidence.Gap{{Reason: a.reason(), Detail: a.why}}
		m.record(p)
		if len(m.x.edge.tools.of(m.screens)) > 0 {
			m.breach(rulings.StageBody, unscreened(a))
		} else {
			m.x.gap(a.reason(), a.why)
		}
		return part{}, false
	}
	p.Outputs = []evidence.BodyPart{text.BodyPart}
	m.record(p)
	return text, true
}

// look runs one screen and rules what it finds.
func (m *measured) look(s *screen, parts []part) {
	p := evidence.ProcessorInvoked{Name: s.name, Configuration: s.configuration, Stage: evidence.StageScreen,
		Decision: evidence.DecisionAdmit, Blind: s.blind, StartedAt: time.Now()}
	size := 0
	for i := range parts {
		p.Inputs = append(p.Inputs, parts[i].BodyPart)
		size += len(parts[i].text)
	}
	fault := m.x.edge.run(size, func() {
		for i := range parts {
			found, more := s.scan(parts[i].text)
			for _, f := range found {
				f.In = parts[i].Of
				p.Matches = append(p.Matches, f)
			}
			p.Omitted = p.Omitted || more
		}
	})
	p.Elapsed = time.Since(p.StartedAt)
	if fault != "" {
		a := abstention{fault, true}
		m.abstained(s, a)
		m.breach(rulings.StageBody, unscreened(a))
		return
	}
	if len(p.Matches) > 0 {
		p.Decision = evidence.DecisionBreach
		if m.breach(rulings.StageBody, matched(s, p.Matches)) {
			p.Decision = evidence.DecisionRefuse
		}
	}
	m.record(p)
}

// matched is the breach that matches are. It names rules and places, and never
// what matched.
func matched(s *screen, list []evidence.Match) rulings.Breach {
	var b strings.Builder
	for i, f := range list {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s in %s at %d to %d", f.Rule, f.In, f.Start, f.End)
	}
	breach := rulings.Breach{Reason: s.reason, Detail: b.String()}
	if s.reason == rulings.InjectionScreen {
		breach.Told = rulings.Say("The answer has text that is written to direct language models (matches: %). It was not released; do not try to get it in another way.",
			rulings.Number(len(list)))
	}
	return breach
}

// timeLimit is how long a screen may take for size octets: a second for each MiB,
// begun ones included (O45).
func timeLimit(size int) time.Duration {
	return time.Second * time.Duration(max(1, (size+1<<20-1)>>20))
}

// run runs what looks at size octets, and says why it cannot count: it panicked,
// or took too long.
func (e *Edge) run(size int, look func()) (fault string) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("a screen panicked", "panic", fmt.Sprint(p))
			fault = "the screen met a fault of its own"
		}
	}()
	look()
	if time.Since(start) > e.screenTime(size) {
		return "the screen took too long"
	}
	return ""
}

// deliverText puts the text of a page in place of the page (O49).
func (m *measured) deliverText(h *held, text part) {
	x, resp := m.x, m.resp
	x.transformed = &evidence.BodyPart{Of: ofRetrieved, Hash: h.sum(), Bytes: int64(len(h.raw))}
	x.sum, x.summed = text.Hash, true
	resp.Body = &resumed{bytes.NewReader(text.text), resp.Body}
	resp.ContentLength = text.Bytes
	resp.Trailer = nil // which was the page's
	resp.TransferEncoding = nil
	resp.Header.Set("Content-Length", strconv.FormatInt(text.Bytes, 10))
	resp.Header.Set("Content-Type", "text/plain; charset=utf-8")
	for _, name := range []string{"Content-Encoding", "Etag", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Accept-Ranges"} {
		resp.Header.Del(name)
	}
}
