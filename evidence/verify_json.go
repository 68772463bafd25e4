package evidence

import "iter"

// What follows reads inside of values that jsonCheck has found good, so it does
// not check again. Of anything else it may return anything, and does not panic.

// membersOf yields the members of the object raw, names and values as written.
func membersOf(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if len(raw) == 0 || raw[0] != '{' {
			return
		}
		for i := skipBlank(raw, 1); i < len(raw) && raw[i] == '"'; {
			end := valueEnd(raw, i)
			name := raw[i+1 : max(i+1, end-1)]
			i = skipBlank(raw, end)
			if i >= len(raw) || raw[i] != ':' {
				return
			}
			i = skipBlank(raw, i+1)
			end = valueEnd(raw, i)
			if !yield(name, raw[i:end]) {
				return
			}
			if i = skipBlank(raw, end); i >= len(raw) || raw[i] != ',' {
				return
			}
			i = skipBlank(raw, i+1)
		}
	}
}

// memberOf returns the value of the member name of the object raw, nil when it
// has none.
func memberOf(raw []byte, name string) []byte {
	for n, value := range membersOf(raw) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// itemsOf yields the items of the array raw.
func itemsOf(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(raw) == 0 || raw[0] != '[' {
			return
		}
		for i := skipBlank(raw, 1); i < len(raw) && raw[i] != ']'; {
			end := valueEnd(raw, i)
			if end == i || !yield(raw[i:end]) {
				return
			}
			if i = skipBlank(raw, end); i >= len(raw) || raw[i] != ',' {
				return
			}
			i = skipBlank(raw, i+1)
		}
	}
}

func skipBlank(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t') {
		i++
	}
	return i
}

// valueEnd returns where the value that begins at i ends.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 {
					return i // of what is around it
				}
				return i + 1
			}
		case ',', ':', ' ', '\t':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(raw)
}

// stringEnd returns where the string that begins at i ends.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
