package proxy

import (
	"fmt"
	"strconv"
	"strings"
)

// A PortSet is a set of TCP ports. Nil is the empty set.
type PortSet struct{ ranges [][2]uint16 }

// DefaultConnectPorts are the ports a CONNECT may name unless the operator
// lists others (N2).
func DefaultConnectPorts() *PortSet {
	return &PortSet{[][2]uint16{{443, 443}, {80, 80}, {8443, 8443}, {8080, 8080}}}
}

// ParsePorts reads a list of ports ("443") and ranges ("9000-9999").
func ParsePorts(list []string) (*PortSet, error) {
	s := &PortSet{}
	for _, item := range list {
		lo, hi, ok := strings.Cut(item, "-")
		if !ok {
			hi = lo
		}
		a, errA := strconv.ParseUint(lo, 10, 16)
		b, errB := strconv.ParseUint(hi, 10, 16)
		if errA != nil || errB != nil || a == 0 || a > b {
			return nil, fmt.Errorf("%q is no port or range of ports such as \"9000-9999\"", item)
		}
		s.ranges = append(s.ranges, [2]uint16{uint16(a), uint16(b)})
	}
	return s, nil
}

// Has reports whether port is in the set.
func (s *PortSet) Has(port uint16) bool {
	if s == nil {
		return false
	}
	for _, r := range s.ranges {
		if r[0] <= port && port <= r[1] {
			return true
		}
	}
	return false
}
