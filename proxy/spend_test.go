package proxy

import (
	"github.com/wayleave/wayleave/rulings"
)

// spendAnywhere lets every session send fields that spend to any host.
func spendAnywhere() []rulings.SpendFile {
	return []rulings.SpendFile{{User: "*", Hosts: []string{"*"}}}
}
