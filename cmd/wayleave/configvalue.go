package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/valkey"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/proxy"
)

// A secret is a credential: it may be handed out, but no log line shows it.
type secret string

// LogValue implements slog.LogValuer.
func (secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// A secretURL is a URL that may hold a password. The zero value is none.
type secretURL struct{ url *url.URL }

// LogValue implements slog.LogValuer.
func (s secretURL) LogValue() slog.Value {
	if s.url == nil {
		return slog.StringValue("")
	}
	return slog.StringValue(s.url.Scheme + "://" + s.url.Host)
}

// An itemError is a fault of one item of a list.
type itemError struct {
	index int
	err   error
}

func (e *itemError) Error() string { return e.err.Error() }
func (e *itemError) Unwrap() error { return e.err }

// eachItem runs check on every item and returns all that it finds.
func eachItem(values []string, check func(string) error) error {
	var errs []error
	for i, v := range values {
		if err := check(v); err != nil {
			errs = append(errs, &itemError{i, err})
		}
	}
	return errors.Join(errs...)
}

func setAddress(dst *string, v string) error {
	_, port, err := net.SplitHostPort(v)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is no address; use host:port, such as 127.0.0.1:3128 or [::1]:3128", v)
	}
	*dst = v
	return nil
}

func setBool(dst *bool, v string) error {
	switch strings.ToLower(v) {
	case "true":
		*dst = true
	case "false":
		*dst = false
	default:
		return fmt.Errorf("%q is neither true nor false", v)
	}
	return nil
}

// sizeUnits are the units of a size, longest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func setSize(dst *int64, v string, least int64) error {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(v, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		switch {
		case err != nil || int64(n) > math.MaxInt64/unit.bytes:
			return fmt.Errorf("%q is no size; use a whole number and B, KiB, MiB or GiB, such as 64MiB", v)
		case int64(n)*unit.bytes < least:
			return fmt.Errorf("%s is too small; at least %dB are needed", v, least)
		}
		*dst = int64(n) * unit.bytes
		return nil
	}
	return fmt.Errorf("%q is no size; use a whole number and B, KiB, MiB or GiB, such as 64MiB", v)
}

func setPath(dst *string, v string) error {
	if v == "" || strings.ContainsRune(v, 0) {
		return errors.New("is no path; leave the key out for the default")
	}
	abs, err := filepath.Abs(v)
	if err != nil {
		return fmt.Errorf("%q has no absolute form", v)
	}
	*dst = abs
	return nil
}

func setAuth(dst *authMode, v string) error {
	switch m := authMode(v); m {
	case authOpen, authToken:
		*dst = m
		return nil
	}
	return fmt.Errorf("%q is none of open, token", v)
}

func setTenancy(dst *bool, v string) error {
	switch v {
	case "single", "shared":
		*dst = v == "shared"
		return nil
	}
	return fmt.Errorf("%q is none of single, shared", v)
}

// setStore never quotes the value: it may hold a password.
func setStore(dst *secretURL, v string) error {
	if v == "file" {
		*dst = secretURL{}
		return nil
	}
	u, err := url.Parse(v)
	if err == nil && (u.Scheme == "redis" || u.Scheme == "rediss") && u.Hostname() != "" {
		if _, err = valkey.Open(v, backoff.Config{}); err == nil { // which connects to nobody
			dst.url = u
			return nil
		}
	}
	return errors.New("is neither file nor the URL of a server; use redis://host:port or rediss://host:port")
}

func setCount(dst *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number of 1 or more", v)
	}
	*dst = n
	return nil
}

func setPorts(dst **proxy.PortSet, values []string) error {
	if len(values) == 0 {
		return errors.New("is empty, so no CONNECT could be let through; leave the key out for the default")
	}
	err := eachItem(values, func(v string) error {
		_, err := proxy.ParsePorts([]string{v})
		return err
	})
	if err != nil {
		return err
	}
	*dst, err = proxy.ParsePorts(values)
	return err
}

// setCAFile checks that the file holds certificates: a wrong one would show only
// as sites whose certificates are not trusted.
func setCAFile(dst *string, v string) error {
	var path string
	if err := setPath(&path, v); err != nil {
		return err
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return errors.New("cannot be read: " + reason(err))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return errors.New("holds no certificate in PEM form")
	}
	*dst = path
	return nil
}

// setProxyURL never quotes the value: it may hold a password.
func setProxyURL(dst *secretURL, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is no proxy's URL; use http://host:port or https://host:port")
	}
	dst.url = u
	return nil
}

func setDuration(dst *time.Duration, v string, least time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q is no duration; write it with its unit, such as 30s or 5m", v)
	}
	if d < least {
		return fmt.Errorf("%s is too short; use %s or more", v, least)
	}
	*dst = d
	return nil
}

func setFilled(dst *[]string, values []string) error {
	if len(values) == 0 {
		return errors.New("is empty; leave the key out for the default")
	}
	*dst = values
	return nil
}

// setSecretNames takes names in any letter case; they are compared word by word
// in lower case (E23), so a name with a separator could never match.
func setSecretNames(dst *[]string, values []string) error {
	err := eachItem(values, func(v string) error {
		if v == "" || strings.ContainsFunc(v, func(r rune) bool { return !isLetterOrDigit(r) }) {
			return fmt.Errorf("%q is no name; use one word of letters and digits, such as voucher", v)
		}
		return nil
	})
	if err == nil {
		*dst = values
	}
	return err
}

func setHosts(dst *[]string, values []string) error {
	err := eachItem(values, func(v string) error {
		if _, err := hostkey.Key(v); err != nil {
			return fmt.Errorf("%q is no host; use a name or an address, such as docs.example.com", v)
		}
		return nil
	})
	if err == nil {
		*dst = values
	}
	return err
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func setSecretPaths(dst *[]string, values []string) error {
	err := eachItem(values, func(v string) error {
		host, path, ok := strings.Cut(v, "/")
		if !ok || host == "" || path == "" || strings.ContainsAny(v, " ?#") {
			return fmt.Errorf("%q is no host and path; use one such as hooks.example/services/*", v)
		}
		return nil
	})
	if err == nil {
		*dst = values
	}
	return err
}

// setRecords reads mappings in JSON, whose members are known to fit T.
func setRecords[T any](dst *[]T, values []string) error {
	list := make([]T, len(values))
	for i, v := range values {
		if err := json.Unmarshal([]byte(v), &list[i]); err != nil {
			return &itemError{i, err}
		}
	}
	*dst = list
	return nil
}
