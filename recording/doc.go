// Package recording keeps the exchanges of a run, and serves them again to a replay
// of it (specs: policy, O62 to O67).
//
//	DIR/recording.json          the manifest, of format wayleave-recording/1
//	DIR/heads/<sha256>.json     status and header fields, as RFC 8785 canonical JSON
//	DIR/bodies/<sha256>         the octets of a body as they were served
//
// The manifest is written last, and only when everything it names is on disk: a
// recording that lacks something has none, and no replay starts from it.
//
// Of a request nothing is kept but its method, its URL and the hash of its body. Of
// an answer everything is, but for the fields that carry credentials or cookies
// ([Secret]). Challenges such as WWW-Authenticate are not secret, and terms and
// payment are ruled by them. Trailers are not kept.
//
// A head's field value is a string of characters up to U+00FF, one for each octet
// (ISO-8859-1), so that values of any octets come back as they were.
//
// [Create] makes a [Writer], [Open] checks a recording whole and makes a
// [Recording]. Paths in a manifest are relative to its directory; none leads
// outside or through a link.
package recording
