package evidence

import (
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestStoreA16CountsWhatItWritesAndOwes(t *testing.T) {
	dir := t.TempDir()
	fs, registry := newTracedFS(t, dir), prometheus.NewRegistry()
	s := openStore(t, dir, Options{FS: fs, Metrics: registry})
	l, _ := s.Session("s")
	_, err := l.Append(t.Context(), opened("x"), opened("x"))
	must(t, err)
	fs.failing(always(callWrite, syscall.ENOSPC))
	l.Append(t.Context(), opened("lost"))

	families, err := registry.Gather()
	must(t, err)
	got := make(map[string]float64)
	for _, f := range families {
		m, name := f.GetMetric()[0], f.GetName()
		got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		if h := m.GetHistogram(); h != nil {
			got[name+"_count"], got[name+"_sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
		}
	}
	for name, want := range map[string]float64{
		"wayleave_evidence_records_total":        4, // edge_started in two logs, and two records
		"wayleave_evidence_batch_records_count":  2,
		"wayleave_evidence_batch_records_sum":    4,
		"wayleave_evidence_append_seconds_count": 3,
		"wayleave_evidence_owed":                 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := Open(dir, Options{Metrics: registry}); err == nil {
		t.Error("two stores count in one registry")
	}
	fs.failing(nil)
}
