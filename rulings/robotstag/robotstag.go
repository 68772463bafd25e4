package robotstag

import "strings"

// Limits of what is listed of a source's own words.
const (
	MaxSearch    = 64  // directives
	MaxDirective = 128 // octets of one; the rest is cut off
)

// Rules are the rules of an answer that bind us. The zero value states nothing.
type Rules struct {
	NoAI               bool // disallows ai-input, ai-train and ai-index
	NoImageAI          bool // the same where the answer is an image
	DisallowAITraining bool // disallows ai-train

	// Search has the other directives as written, in order. They say nothing of
	// the purposes ruled here, and the record has them in the head that is kept.
	Search []string
}

// Parse reads the X-Robots-Tag lines of an answer for the product tokens given.
// No input is an error; time is in proportion to the lines.
func Parse(lines, tokens []string) Rules {
	var r Rules
	for _, line := range lines {
		r.take(line, tokens)
	}
	return r
}

// ParseMeta reads the content of a <meta> of this name, which is as a field line
// is. The name binds us if it is robots or one of tokens; ok is false otherwise.
func ParseMeta(name, content string, tokens []string) (r Rules, ok bool) {
	if !equalFold(name, "robots") && !holds(tokens, name) {
		return Rules{}, false
	}
	r.take(content, tokens)
	return r, true
}

// take adds the rules of one line. A prefix names the agent that what follows is
// for, up to the end of the line or the next prefix.
func (r *Rules) take(line string, tokens []string) {
	ours := true
	for directive := range strings.SplitSeq(line, ",") {
		for {
			agent, rest, ok := cutPrefix(directive)
			if !ok {
				break
			}
			ours, directive = holds(tokens, agent), rest
		}
		if directive = strings.Trim(directive, white); ours && directive != "" {
			r.add(directive)
		}
	}
}

// white is what parts words: in a meta line breaks too.
const white = " \t\r\n\f"

// valued are the rules that have a value behind a colon, as an agent has its
// rules.
var valued = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// cutPrefix cuts the agent off that a directive begins with.
func cutPrefix(directive string) (agent, rest string, ok bool) {
	agent, rest, ok = strings.Cut(directive, ":")
	agent = strings.Trim(agent, white)
	if !ok || agent == "" || strings.ContainsAny(agent, white) || holds(valued, agent) {
		return "", "", false
	}
	return agent, rest, true
}

func (r *Rules) add(directive string) {
	switch {
	case equalFold(directive, "noai"):
		r.NoAI = true
	case equalFold(directive, "noimageai"):
		r.NoImageAI = true
	case equalFold(directive, "disallowaitraining"):
		r.DisallowAITraining = true
	case len(r.Search) < MaxSearch:
		r.Search = append(r.Search, directive[:min(len(directive), MaxDirective)])
	}
}

func holds(list []string, word string) bool {
	for _, w := range list {
		if equalFold(w, word) && word != "" {
			return true
		}
	}
	return false
}

// equalFold compares without letter case, of ASCII alone.
func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
