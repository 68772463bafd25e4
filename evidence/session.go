package evidence

import (
	"errors"
	"strings"
)

// ErrSessionInvalid says that a session id may not be used: it is no id by E2, or
// the file system takes it for the name of another session's log.
var ErrSessionInvalid = errors.New("the session id is not valid")

// ValidSession reports whether id may name a session: 1 to 128 ASCII letters,
// digits, ".", "_" and "-", not starting with "." (E2). Such an id is a file name
// on its own and never a path.
func ValidSession(id string) bool {
	if len(id) < 1 || len(id) > 128 || id[0] == '.' {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	})
}

// ownPrefix stands before an edge's id in that of its own session.
const ownPrefix = "edge-"

// OwnSessionOf returns the id of the session that is edge's own (E2).
func OwnSessionOf(edge string) string { return ownPrefix + edge }

// OwnSession reports whether id names the session of an edge's own, where the
// crossings go that belong to none (E2). It is nobody else's.
func OwnSession(id string) bool {
	edge, ok := strings.CutPrefix(id, ownPrefix)
	return ok && edgeID.MatchString(edge)
}
