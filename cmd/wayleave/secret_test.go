package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestE23SecretsDoNotReachTheProcessLog(t *testing.T) {
	var via secretURL
	if err := setProxyURL(&via, "http://operator:hunter2@proxy.example:8080"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("secrets", "token", secret("hunter2"), "proxy", via, "none", secretURL{})
	}
	if strings.Contains(b.String(), "hunter2") || strings.Count(b.String(), "http://proxy.example:8080") != 2 {
		t.Error(b.String())
	}
}
