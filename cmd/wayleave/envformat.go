package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// envFormats are the ways to print an environment, by the name of --format.
var envFormats = map[string]func([]variable) []byte{
	"sh":         formatLines("export %s=%s\n", shQuote),
	"fish":       formatLines("set -gx %s %s\n", fishQuote),
	"powershell": formatLines("$env:%s = %s\n", powershellQuote),
	"dotenv":     formatLines("%s=%s\n", dotenvQuote),
	"json":       formatJSON,
}

func formatLines(line string, quote func(string) string) func([]variable) []byte {
	return func(vars []variable) []byte {
		var b bytes.Buffer
		for _, v := range vars {
			fmt.Fprintf(&b, line, v.name, quote(v.value))
		}
		return b.Bytes()
	}
}

func formatJSON(vars []variable) []byte {
	object := make(map[string]string, len(vars))
	for _, v := range vars {
		object[v.name] = v.value
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(object); err != nil {
		panic("wayleave: encoding strings: " + err.Error()) // strings always encode
	}
	return b.Bytes()
}

// shQuote quotes for POSIX shells: nothing is special inside single quotes but
// the quote itself.
func shQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fishQuote quotes for fish, where \ and ' are escaped inside single quotes.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// powershellQuote quotes for PowerShell, where a single quote is doubled. It
// takes the typographic ones for the same character.
func powershellQuote(s string) string {
	return "'" + strings.NewReplacer("'", "''", "‘", "‘‘", "’", "’’", "‚", "‚‚", "‛", "‛‛").Replace(s) + "'"
}

// dotenvQuote quotes only what needs it: docker's --env-file takes quotes for
// part of the value, while every reader takes a plain value as it stands.
func dotenvQuote(s string) string {
	if !strings.ContainsAny(s, "\"'`\\$#\n\r") && strings.TrimSpace(s) == s {
		return s
	}
	if !strings.ContainsAny(s, "'\n\r") {
		return "'" + s + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

// shWord quotes s for a command line to paste, where it needs that.
func shWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("/._-:@%+,=", r) }) {
		return s
	}
	return shQuote(s)
}
