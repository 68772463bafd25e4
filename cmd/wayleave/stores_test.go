package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/admin"
)

// An edge that cannot keep pace or terms is not ready, and its status says which of
// them it is, without a path of the machine.
func TestN25_A5_AnEdgeIsNotReadyWithoutItsStores(t *testing.T) {
	for _, c := range []struct {
		name, path string // of what is in the way of the store
		healthy    map[string]bool
	}{
		{"nothing", "", map[string]bool{"evidence": true, "pacing": true, "terms": true}},
		{"of the pace", "backoff", map[string]bool{"evidence": true, "pacing": false, "terms": true}},
		{"of the terms' objects", "terms/objects", map[string]bool{"evidence": true, "pacing": true, "terms": false}},
		{"of what origins said", "terms/origins", map[string]bool{"evidence": true, "pacing": true, "terms": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newDeskWorld(t, "", nil)
			ready := http.StatusOK
			if c.path != "" {
				path := filepath.Join(w.edge.cfg.data, c.path)
				mustDo(t, os.RemoveAll(path))
				mustDo(t, os.WriteFile(path, nil, 0o600))
				t.Cleanup(func() { mustDo(t, os.Remove(path)); mustDo(t, os.Mkdir(path, 0o700)) }) // before the edge is closed
				ready = http.StatusServiceUnavailable
			}
			resp, err := askEdge(t.Context(), w.edge.at, http.MethodGet, "/readyz", nil)
			mustDo(t, err)
			resp.Body.Close()
			if resp.StatusCode != ready {
				t.Errorf("/readyz: %s", resp.Status)
			}
			var s admin.Status
			w.ask(http.MethodGet, "/v1/status", "", &s)
			got := map[string]bool{}
			for _, store := range s.Stores {
				got[store.Name] = store.Healthy
				if store.Healthy != (store.Detail == "") {
					t.Errorf("%s is %v: %q", store.Name, store.Healthy, store.Detail)
				}
			}
			if diff := cmp.Diff(c.healthy, got); diff != "" {
				t.Errorf("stores (-want +got):\n%s", diff)
			}
		})
	}
}
