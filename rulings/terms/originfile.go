package terms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// The file of one origin, origins/<key>.json, is one JSON object:
//
//	format      "wayleave-terms-origin/1"
//	origin      scheme://host[:port]; another origin's file is ignored (T14)
//	asked       URL of the probe
//	status      of its last response; absent when there was none
//	outcome     read, no_rules or unreachable
//	cause       why it is unreachable
//	fetched_at  end of the probe, RFC 3339
//	expires_at  until when nobody asks again
//	final_url   of the last request, when it is another than asked
//	redirects   URLs of the hops after the first
//	object      digest of the body, when outcome is read
//	truncated   the body was longer than what is read of one
//	size        octets of the whole body; absent when it was cut and is not known
//	held        the last answer that was read, with the same members from status
//	            on; only where outcome is unreachable and there is one (T16)
const originFormat = "wayleave-terms-origin/1"

// maxOriginFile bounds what is read of an origin's file, in octets: two visits
// of at most 6 URLs of 8 KiB each, which JSON's escapes at most double, and room
// for the rest.
const maxOriginFile = 256 << 10

// errIllFormed is a file of origins/ that reads as empty (T20).
var errIllFormed = errors.New("ill-formed origin file")

type originFile struct {
	Format string `json:"format"`
	Origin string `json:"origin"`
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

// robotsURL is where an origin keeps its robots.txt (RFC 9309, section 2.3).
func robotsURL(o hostkey.Origin) string { return o.String() + "/robots.txt" }

// formatOrigin is the inverse of parseOrigin. L holds at least one visit.
func formatOrigin(o hostkey.Origin, l ledger) ([]byte, error) {
	f := originFile{Format: originFormat, Origin: o.String(), Asked: robotsURL(o), fileVisit: toFile(l.last())}
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

// parseOrigin reads the file of origin o. Whatever it does not understand makes
// the whole file errIllFormed: a cache that is guessed at could let a request
// pass that the origin forbade.
func parseOrigin(data []byte, o hostkey.Origin) (ledger, error) {
	var f originFile
	if err := json.Unmarshal(data, &f); err != nil {
		return ledger{}, fmt.Errorf("%w: %w", errIllFormed, err)
	}
	if f.Format != originFormat || f.Origin != o.String() || f.Asked != robotsURL(o) {
		return ledger{}, fmt.Errorf("%w: of another format or origin", errIllFormed)
	}
	last, err := fromFile(f.fileVisit)
	if err != nil {
		return ledger{}, err
	}
	if last.Outcome != rulings.TermUnreachable {
		if f.Held != nil {
			return ledger{}, fmt.Errorf("%w: a held copy beside an answer", errIllFormed)
		}
		return ledger{answered: last}, nil
	}
	if f.Held == nil {
		return ledger{missed: last}, nil
	}
	held, err := fromFile(*f.Held)
	if err == nil && held.Outcome == rulings.TermUnreachable {
		err = fmt.Errorf("%w: a held copy that was not read", errIllFormed)
	}
	return ledger{answered: held, missed: last}, err
}

func toFile(v *visit) fileVisit {
	return fileVisit{
		v.Status, v.Outcome, v.Cause, v.FetchedAt, v.ExpiresAt, v.FinalURL, v.Redirects, v.Object.String(), v.Truncated, v.Size,
	}
}

func fromFile(f fileVisit) (*visit, error) {
	v := &visit{
		f.Outcome, f.Cause, f.Status, f.FetchedAt.UTC(), f.ExpiresAt.UTC(), f.FinalURL, f.Redirects, rulings.Digest{}, f.Truncated, f.Size,
	}
	var err error
	if f.Object != "" {
		v.Object, err = parseDigest(f.Object)
	}
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIllFormed, err)
	}
	return v, nil
}

// check refuses a visit that no probe can have had.
func (v *visit) check() error {
	object, longest := false, longestLife
	var fits bool
	switch v.Outcome {
	case rulings.TermRead:
		object, fits = true, v.Status >= 200 && v.Status <= 299
	case rulings.TermNoRules:
		fits = v.Status >= 400 && v.Status <= 499 && v.Status != 429
	case rulings.TermUnreachable:
		longest, fits = failureLife, v.Status >= 0
	}
	life := v.ExpiresAt.Sub(v.FetchedAt)
	switch {
	case !fits:
		return fmt.Errorf("outcome %q does not go with status %d", v.Outcome, v.Status)
	case object != (v.Object != rulings.Digest{}):
		return fmt.Errorf("outcome %q does not go with object %q", v.Outcome, v.Object)
	case v.FetchedAt.IsZero() || life < 0 || life > longest:
		return fmt.Errorf("life of %v", life)
	case v.Size < 0 || v.Size > robots.MaxBytes && !v.Truncated || len(v.Redirects) > maxRedirects:
		return fmt.Errorf("size %d, %d redirects", v.Size, len(v.Redirects))
	}
	for _, u := range append([]string{v.FinalURL}, v.Redirects...) {
		if _, err := url.Parse(u); err != nil || len(u) > maxURL {
			return errors.New("a URL that was not asked")
		}
	}
	return nil
}
