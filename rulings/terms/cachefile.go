package terms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// The file of one place is one JSON object:
//
//	format      "wayleave-terms-" and the kind, "/1"
//	origin      scheme://host[:port] of what an origin has one of; another
//	            origin's file is ignored (T14)
//	asked       URL of the probe; another's file is ignored
//	status      of its last response; absent when there was none
//	outcome     of a robots.txt: read, no_rules or unreachable; else read,
//	            missing or unread
//	cause       why it is unreachable or unread
//	fetched_at  end of the probe, RFC 3339
//	expires_at  until when nobody asks again
//	final_url   of the last request, when it is another than asked
//	redirects   URLs of the hops after the first
//	object      digest of the body, when that was read
//	truncated   the body was longer than what is read of one
//	size        octets of the whole body; absent when it was cut and is not known
//	held        the last answer that was read, with the same members from status
//	            on; only where outcome is unreachable and there is one (T16)

// maxCacheFile bounds what is read of such a file, in octets: three URLs of 8 KiB
// and two visits of at most 6 such URLs each, which JSON's escapes at most
// double, and room for the rest.
const maxCacheFile = 256 << 10

// errIllFormed is a file that reads as empty (T20).
var errIllFormed = errors.New("ill-formed cache file")

type cacheFile struct {
	Format string `json:"format"`
	Origin string `json:"origin,omitempty"`
	Asked  string `json:"asked"`
	fileVisit
	Held *fileVisit `json:"held,omitempty"`
}

type fileVisit struct {
	Status    int                 `json:"status,omitempty"`
	Outcome   rulings.TermOutcome `json:"outcome"`
	Cause     string              `json:"cause,omitempty"`
	FetchedAt time.Time           `json:"fetched_at"`
	ExpiresAt time.Time           `json:"expires_at"`
	FinalURL  string              `json:"final_url,omitempty"`
	Redirects []string            `json:"redirects,omitempty"`
	Object    string              `json:"object,omitempty"`
	Truncated bool                `json:"truncated,omitempty"`
	Size      int64               `json:"size,omitempty"`
}

// head is what the file of p says of whose it is.
func (kd *kind) head(p place) cacheFile {
	f := cacheFile{Format: kd.format, Asked: kd.url(p)}
	if p.url == "" {
		f.Origin = p.origin.String()
	}
	return f
}

// formatFile is the inverse of parseFile. L holds at least one visit.
func (kd *kind) formatFile(p place, l ledger) ([]byte, error) {
	f := kd.head(p)
	f.fileVisit = toFile(l.last())
	if l.missed != nil && l.answered != nil {
		held := toFile(l.answered)
		f.Held = &held
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // URLs are full of &
	err := enc.Encode(f)
	return b.Bytes(), err
}

// parseFile reads the file of p. Whatever it does not understand makes the whole
// file errIllFormed: a cache that is guessed at could let a request pass that the
// source forbade.
func (kd *kind) parseFile(data []byte, p place) (ledger, error) {
	var f cacheFile
	if err := json.Unmarshal(data, &f); err != nil {
		return ledger{}, fmt.Errorf("%w: %w", errIllFormed, err)
	}
	if h := kd.head(p); f.Format != h.Format || f.Origin != h.Origin || f.Asked != h.Asked {
		return ledger{}, fmt.Errorf("%w: of another format or place", errIllFormed)
	}
	last, err := kd.fromFile(f.fileVisit)
	switch {
	case err != nil:
		return ledger{}, err
	case f.Held == nil && last.answers():
		return ledger{answered: last}, nil
	case f.Held == nil:
		return ledger{missed: last}, nil
	case last.answers() || !kd.holds:
		return ledger{}, fmt.Errorf("%w: a held copy where none rules", errIllFormed)
	}
	held, err := kd.fromFile(*f.Held)
	if err == nil && !held.answers() {
		err = fmt.Errorf("%w: a held copy that was not read", errIllFormed)
	}
	return ledger{answered: held, missed: last}, err
}

func toFile(v *visit) fileVisit {
	return fileVisit{
		v.Status, v.Outcome, v.Cause, v.FetchedAt, v.ExpiresAt, v.FinalURL, v.Redirects, v.Object.String(), v.Truncated, v.Size,
	}
}

func (kd *kind) fromFile(f fileVisit) (*visit, error) {
	v := &visit{
		f.Outcome, f.Cause, f.Status, f.FetchedAt.UTC(), f.ExpiresAt.UTC(), f.FinalURL, f.Redirects, rulings.Digest{}, f.Truncated, f.Size,
	}
	var err error
	if f.Object != "" {
		v.Object, err = parseDigest(f.Object)
	}
	if err == nil {
		err = errors.Join(v.check(), kd.fits(v))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIllFormed, err)
	}
	return v, nil
}
