package bodytype

import (
	"bytes"
	"strings"
)

// Textless reports that the body has no text by what its head says: it is empty,
// or a picture, a sound, an archive or the like (O37). What can be read is never
// textless by its type, a picture in SVG for one, nor is a PDF or an office format.
// It says nothing of status and method, which are the caller's.
func Textless(h Head) bool {
	if h.Length == 0 && !h.Upgraded {
		return true
	}
	found := false
	for _, line := range h.Types {
		if strings.Trim(line, " \t") == "" {
			continue
		}
		if !isTextless(MediaType(line)) {
			return false
		}
		found = true
	}
	return found
}

// Blank reports that content is empty or white space only, a byte order mark
// aside (O37).
func Blank(content []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))) == 0
}

func isTextless(mediaType string) bool {
	if byType(mediaType) != unreadable(Type) {
		return false
	}
	kind, subtype, _ := strings.Cut(mediaType, "/")
	switch kind {
	case "image", "audio", "video", "font", "model":
		return true
	}
	switch subtype {
	case "octet-stream", "x-octet-stream", "ogg", "mp4", // sound and pictures
		"font-woff", "font-woff2", "font-sfnt", "vnd.ms-fontobject", // fonts under their former types
		"zip", "x-zip-compressed", "gzip", "x-gzip", "x-tar", "x-gtar", "x-compressed-tar", "x-bzip", "x-bzip2", "x-xz", "x-lzma", "x-lzip", "zstd",
		"x-compress", "x-7z-compressed", "vnd.rar", "x-rar-compressed", "x-rar", "x-cpio", "x-archive", "java-archive", "x-java-archive",
		"vnd.debian.binary-package", "x-debian-package", "x-rpm", "x-redhat-package-manager", "vnd.android.package-archive",
		"x-apple-diskimage", "x-iso9660-image", "vnd.ms-cab-compressed":
		return true
	}
	return hasPrefix(subtype, "x-font-")
}
