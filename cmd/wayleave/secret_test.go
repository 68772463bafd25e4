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

// E23: the URL of the server that keeps the pace may hold a password, and no
// fault repeats it.
func TestE23TheStoreOfPaceIsNeverQuoted(t *testing.T) {
	for _, v := range []string{"redis://user:hunter2@", "http://user:hunter2@store.example", "redis://:hunter2@store.example/x", "hunter2"} {
		var dst secretURL
		err := setStore(&dst, v)
		if err == nil || strings.Contains(err.Error(), "hunter2") || dst.url != nil {
			t.Errorf("%q: %v, %v", v, dst, err)
		}
	}
	for v, want := range map[string]string{"file": "", "redis://:hunter2@store.example": "redis://store.example", "rediss://store.example:1/2": "rediss://store.example:1"} {
		var dst secretURL
		if err := setStore(&dst, v); err != nil || dst.LogValue().String() != want {
			t.Errorf("%q: %v, %v", v, dst, err)
		}
	}
}
