package bodytype

import "strings"

// MediaType returns the type and subtype that a Content-Type value names, in
// lower case and without parameters, or nothing where it names none.
func MediaType(contentType string) string {
	essence, _, _ := strings.Cut(contentType, ";")
	essence = strings.ToLower(strings.Trim(essence, " \t"))
	kind, subtype, _ := strings.Cut(essence, "/")
	if !isToken(kind) || !isToken(subtype) {
		return ""
	}
	return essence
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for _, c := range s {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) {
			return false
		}
	}
	return s != ""
}

// byTypes returns the verdict by media type alone. Lines that lead to different
// verdicts leave open which of them a reader goes by.
func byTypes(lines []string) (v Verdict) {
	for _, line := range lines {
		if strings.Trim(line, " \t") == "" {
			continue // as if it were not there
		}
		of := byType(MediaType(line))
		if v.Kind != Undecided && v != of {
			return unreadable(Type)
		}
		v = of
	}
	return v
}

func byType(mediaType string) Verdict {
	_, subtype, _ := strings.Cut(mediaType, "/")
	switch {
	case isStream(mediaType):
		return unreadable(Stream)
	case mediaType == "application/pdf" || mediaType == "application/x-pdf":
		return unreadable(PDF)
	case mediaType == "text/html" || mediaType == "application/xhtml+xml":
		return Verdict{Kind: HTML}
	case mediaType == "text/rtf": // text only by its name
		return unreadable(Office)
	case isText(mediaType, subtype):
		return Verdict{Kind: Text}
	case isOffice(subtype):
		return unreadable(Office)
	}
	return unreadable(Type)
}

func isText(mediaType, subtype string) bool {
	switch mediaType {
	case "application/json",
		"application/xml", "application/xml-dtd", "application/xml-external-parsed-entity", // RFC 7303
		"application/javascript", "application/x-javascript", "application/ecmascript", "application/x-ecmascript",
		"application/yaml", "application/x-yaml":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || hasSuffix(subtype, "+json", "+xml", "+yaml")
}

// isStream reports types whose bodies are used as they come (O44). Most have the
// form of text, or a suffix that says so, and go before those.
func isStream(mediaType string) bool {
	switch mediaType {
	case "text/event-stream", "multipart/x-mixed-replace",
		"application/x-ndjson", "application/ndjson", "text/x-ndjson", "text/ndjson",
		"application/jsonl", "application/x-jsonl", "text/jsonl", "text/x-jsonl",
		"application/jsonlines", "application/x-jsonlines", "application/json-lines", "application/json-seq",
		"application/stream+json", "application/x-json-stream":
		return true
	}
	return hasSuffix(mediaType, "+json-seq", "+ndjson", "+jsonl") ||
		hasPrefix(mediaType, "application/grpc", "application/connect+")
}

// isOffice reports office and e-book formats.
func isOffice(subtype string) bool {
	switch subtype {
	case "msword", "rtf", "x-rtf", "x-msaccess", "oxps", "vnd.ms-xpsdocument", "vnd.ms-office", "vnd.ms-outlook", "vnd.wordperfect",
		"vnd.apple.pages", "vnd.apple.numbers", "vnd.apple.keynote",
		"epub+zip", "x-mobipocket-ebook", "vnd.amazon.ebook", "vnd.amazon.mobi8-ebook", "x-fictionbook", "vnd.comicbook+zip", "vnd.ms-htmlhelp":
		return true
	}
	return hasPrefix(subtype, "vnd.openxmlformats-officedocument.", "vnd.oasis.opendocument.", "vnd.sun.xml.", "x-iwork-",
		"vnd.ms-excel", "vnd.ms-powerpoint", "vnd.ms-word", "vnd.ms-works", "vnd.ms-project", "vnd.ms-visio", "vnd.visio")
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func hasSuffix(s string, suffixes ...string) bool {
	for _, p := range suffixes {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}
