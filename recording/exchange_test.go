package recording

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestO62_AnyTargetThatWasSentCanBeRecorded(t *testing.T) {
	for url, host := range map[string]string{
		"https://page.example/100%":            "page.example",
		"https://page.example/a?b=%zz&c=%":     "page.example",
		"http://page.example:8080//a//..;p=[{": "page.example",
		"https://[2001:db8::1]:8443?q=1":       "2001:db8::1",
		"https://page.example":                 "page.example",
	} {
		if !ValidURL(url) {
			t.Errorf("%s cannot be recorded", url)
		}
		w, dir := newWriter(t)
		record(w, page(url), html(), "text")
		_, err := w.Close()
		must(t, err)
		if n, text := take(t, open(t, dir, host), "GET", url, ""); n != 1 || text != "text" {
			t.Errorf("%s: exchange %d, %q", url, n, text)
		}
	}
	for _, url := range []string{"", "/a", "https:", "https://", "https:///a", "https://:1/", "ftp://a.example/", "https://u@a.example/", "https://a.example/#x", "https://a.example/a b",
		"https://a.example/\x00", "https://a.example/\xff", "https://a b/", "https://a.example?#"} {
		if ValidURL(url) {
			t.Errorf("%q can be recorded", url)
		}
	}
}

func TestO64_ABodyOfTheRequestThatIsKnownLateIsRecorded(t *testing.T) {
	w, dir := newWriter(t)
	e := w.Add(Exchange{Kind: Other, Method: "POST", URL: model, CapturedAt: noon}, html())
	e.Request(sumOfQuestion)
	e.Done()
	_, err := w.Close()
	must(t, err)
	if n, _ := take(t, open(t, dir), "POST", model, sumOfQuestion); n != 1 {
		t.Errorf("exchange %d was served, want 1", n)
	}
}

func TestO62_WhatHadNoAnswerIsLeftOutOfAWholeRecording(t *testing.T) {
	w, dir := newWriter(t)
	w.LeaveOut("GET", site, "connection_refused")
	record(w, page(site), html(), "one")
	s, err := w.Close()
	must(t, err)
	if diff := cmp.Diff([]LeftOut{{"GET", site, "connection_refused"}}, s.LeftOut); diff != "" {
		t.Error(diff)
	}
	if n, text := take(t, open(t, dir), "GET", site, ""); n != 1 || text != "one" {
		t.Errorf("exchange %d, %q", n, text)
	}
}

func TestO62_ADirectoryWhoseRecordingIsDiscardedTakesAnother(t *testing.T) {
	w, dir := newWriter(t)
	record(w, page(site), html(), "one")
	must(t, w.Discard())
	if _, err := w.Close(); err == nil {
		t.Error("closed after it was discarded")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v left, %v", entries, err)
	}
	if _, err := Create(dir, Options{Ruleset: "r"}); errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
}
