package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// The manifest in the order in which it is written.
type (
	manifestForm struct {
		Format    string         `json:"format"`
		CreatedAt string         `json:"created_at"`
		Ruleset   string         `json:"ruleset"`
		Exchanges []exchangeForm `json:"exchanges"`
	}
	exchangeForm struct {
		N             int    `json:"n"`
		Kind          Kind   `json:"kind"`
		Method        string `json:"method"`
		URL           string `json:"url"`
		RequestSHA256 string `json:"request_sha256,omitempty"`
		CapturedAt    string `json:"captured_at"`
		Head          string `json:"head"`
		HeadSHA256    string `json:"head_sha256"`
		Body          string `json:"body"`
		BodySHA256    string `json:"body_sha256"`
		BodyBytes     int64  `json:"body_bytes"`
	}
)

// encodeManifest returns the text of recording.json.
func encodeManifest(created time.Time, ruleset string, all []Exchange) []byte {
	form := manifestForm{Format: Format, CreatedAt: created.UTC().Format(instantForm), Ruleset: ruleset, Exchanges: []exchangeForm{}}
	for _, x := range all {
		form.Exchanges = append(form.Exchanges, exchangeForm{x.N, x.Kind, x.Method, x.URL, x.RequestSHA256,
			x.CapturedAt.UTC().Format(instantForm), x.Head, x.HeadSHA256, x.Body, x.BodySHA256, x.BodyBytes})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // URLs are to be read
	enc.SetIndent("", "  ")
	if err := enc.Encode(form); err != nil {
		panic(err) // strings and numbers have a form
	}
	return b.Bytes()
}
