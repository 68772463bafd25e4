package robots

import (
	"net/url"
	"strconv"
)

// Licences returns the URLs of the licences that bind any of the selection's
// tokens, in order, each once (specs: terms T56, T57), resolved against base, the
// final URL of the file; without a base only absolute ones can be. unread counts
// the different values that name something no licence can be asked for at.
func (s Selection) Licences(base *url.URL) (urls []string, unread int) {
	good, bad := make(map[string]bool), make(map[string]bool)
	for _, line := range s.Lines(License) {
		licence, ok := resolve(base, line.Value)
		if !ok {
			bad[line.Value] = true
			continue
		}
		if !good[licence] {
			good[licence] = true
			urls = append(urls, licence)
		}
	}
	return urls, len(bad)
}

// resolve returns the absolute http or https URL that reference stands for.
func resolve(base *url.URL, reference string) (string, bool) {
	u, err := url.Parse(reference)
	if err != nil {
		return "", false
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return "", false
	}
	if port := u.Port(); port != "" {
		// Package url takes any number.
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
	}
	return u.String(), true
}
