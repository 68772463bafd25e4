package backoff

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName    = 100 // octets of a file name, without extension, that is readable as a whole
	namePrefix = 40  // readable octets of one that is not
)

// FileName returns the name, without extension, of the files that keep the pace
// of the host with this key (P34). Different keys have different ones, of at
// most 105 octets.
func FileName(key string) string {
	name := key
	if strings.IndexFunc(key, escapedInName) >= 0 {
		name = escapeName(key)
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(key))
	return name[:namePrefix] + "-" + hex.EncodeToString(sum[:])
}

func escapedInName(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
}

func escapeName(key string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; escapedInName(rune(c)) {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
