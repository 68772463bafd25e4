package main

import (
	"encoding/json"
	"fmt"
	"net"

	"github.com/wayleave/wayleave/evidence"
)

// ready is what the ready file and the edge's lock file hold (E3): how to reach
// a running edge.
type ready struct {
	Proxy string `json:"proxy"` // host:port
	Admin string `json:"admin"` // host:port
	CA    string `json:"ca"`    // path of the CA's certificate
	Token string `json:"token"` // path of the admin token
}

func (r ready) json() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic("wayleave: encoding strings: " + err.Error()) // strings always encode
	}
	return append(text, '\n')
}

// reachable is the address by which this machine reaches a listener: one on
// every address is reached on loopback.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		// A socket bound to :: takes IPv4 too, on which more clients agree.
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// runningEdge finds a running edge of a data directory, by the lock it holds
// (E3). Of several the one started last counts. ok is false when none is
// running or none can be reached.
func runningEdge(data string) (r ready, ok bool, err error) {
	edges, err := evidence.Edges(data)
	if err != nil {
		return ready{}, false, fmt.Errorf("looking for a running edge: %w", err)
	}
	var latest string
	for _, e := range edges {
		var found ready
		if e.ID > latest && json.Unmarshal(e.Ready, &found) == nil && found.Proxy != "" {
			latest, r, ok = e.ID, found, true
		}
	}
	return r, ok, nil
}

// isPortZero reports whether address leaves the port to the system.
func isPortZero(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}
