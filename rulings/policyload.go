package rulings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrPolicyForm says that octets are no canonical form of a policy that these
// rules know.
var ErrPolicyForm = errors.New("not the canonical form of a policy of this version")

// LoadPolicy returns the policy whose Canonical is canonical, which is how a
// policy lies among the term objects. It answers ErrPolicyForm unless loading
// loses nothing: a member that these rules do not know could have ruled.
func LoadPolicy(canonical []byte) (*Policy, error) {
	var doc struct {
		AllowPrivate []string `json:"allow_private"`
		Services     []string `json:"services"`
		Tunnels      []string `json:"tunnels"`
		Identity     struct {
			Contact      string   `json:"contact"`
			ProductToken []string `json:"product_token"`
			UserAgent    string   `json:"user_agent"`
		} `json:"identity"`
	}
	if err := json.Unmarshal(canonical, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicyForm, err)
	}
	p, faults := NewPolicy(PolicyFile{
		AllowPrivate: doc.AllowPrivate, Services: doc.Services, Tunnels: doc.Tunnels,
		Identity: IdentityFile{doc.Identity.ProductToken, doc.Identity.UserAgent, doc.Identity.Contact},
	})
	if len(faults) > 0 || !bytes.Equal(p.Canonical(), canonical) {
		return nil, ErrPolicyForm
	}
	return p, nil
}
