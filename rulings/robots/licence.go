package robots

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
)

// Licences returns the URLs of the licences that bind any of the selection's
// tokens, in order, each once (specs: terms T56, T57), resolved against base, the
// final URL of the file; without a base only absolute ones can be. An empty one
// stands for each different value that names something no licence can be asked for
// at. They are at most most, unless that is 0.
func (s Selection) Licences(base *url.URL, most int) (urls []string) {
	seen := make(map[string]bool)
	for _, line := range s.Lines(License) {
		if most > 0 && len(urls) == most {
			break
		}
		licence, _ := resolve(base, line.Value)
		if key := cmp.Or(licence, line.Value); !seen[key] {
			seen[key] = true
			urls = append(urls, licence)
		}
	}
	return urls
}

// Licences returns the URLs that the License lines of the whole file name,
// whoever they bind, resolved against base.
func (f *File) Licences(base *url.URL) (urls []string) {
	for _, line := range f.licences {
		if licence, ok := resolve(base, line.Value); ok {
			urls = append(urls, licence)
		}
	}
	return urls
}

// States reports whether the file has a line of one of keys, whoever it binds.
func (f *File) States(keys ...Key) bool {
	return slices.ContainsFunc(keys, func(key Key) bool { return f.stated[key] })
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
