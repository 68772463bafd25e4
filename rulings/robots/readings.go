package robots

import (
	"bytes"
	"strings"
)

// operations are the ways in which servers differ over a path's spelling, in the
// order in which T35 names them. Each returns its argument when it changes
// nothing.
var operations = [...]func(path string) string{decodeSeparators, mergeSlashes, resolveDots, stripParameters}

// decodeSeparators turns %2F, %5C and \ into / and %3B into ;. A second escape
// such as %252F is not touched: no server this is about decodes twice.
func decodeSeparators(path string) string {
	if strings.IndexByte(path, '%') < 0 && strings.IndexByte(path, '\\') < 0 {
		return path
	}
	dst := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			switch decoded, ok := unescape(path[i:]); {
			case ok && (decoded == '/' || decoded == '\\'):
				c, i = '/', i+2
			case ok && decoded == ';':
				c, i = ';', i+2
			}
		} else if c == '\\' {
			c = '/'
		}
		dst = append(dst, c)
	}
	return string(dst)
}

// mergeSlashes makes every run of / one.
func mergeSlashes(path string) string { return mergeRuns(path, '/') }

// resolveDots takes . and .. segments out, their %2E spellings included, as a
// browser does before it sends (WHATWG URL, "path state").
func resolveDots(path string) string {
	dst := make([]byte, 0, len(path))
	for rest, more := strings.TrimPrefix(path, "/"), true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		switch dots(segment) {
		case 0:
			dst = append(dst, '/')
			dst = append(dst, segment...)
			continue
		case 2:
			dst = dst[:max(0, bytes.LastIndexByte(dst, '/'))]
		}
		if !more { // a final dot segment names a directory
			dst = append(dst, '/')
		}
	}
	return string(dst)
}

// dots returns 1 for a segment that means this directory, 2 for one that means
// the directory above, and 0 for any other.
func dots(segment string) int {
	n := 0
	for ; segment != ""; n++ {
		if rest, ok := strings.CutPrefix(segment, "."); ok {
			segment = rest
		} else if len(segment) >= 3 && strings.EqualFold(segment[:3], "%2e") {
			segment = segment[3:]
		} else {
			return 0
		}
	}
	if n > 2 {
		return 0
	}
	return n
}

// stripParameters cuts each segment at its first raw ; (RFC 2396, section 3.3,
// gave segments parameters, and some servers still drop them).
func stripParameters(path string) string {
	if strings.IndexByte(path, ';') < 0 {
		return path
	}
	dst := make([]byte, 0, len(path))
	parameter := false
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '/':
			parameter = false
		case ';':
			parameter = true
		}
		if !parameter {
			dst = append(dst, path[i])
		}
	}
	return string(dst)
}
