package rulings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/money"
)

// ServiceTerms is what the policy says of a service.
type ServiceTerms struct {
	Host         string // pattern
	Pace         bool   // is paced as a source is
	Price        Price
	ChargeHeader string // field of an answer that names its charge, in lower case; empty for none
}

// A Price is what a request to a service costs (O30). The zero value is a price
// that nobody knows, which no allowance can count.
type Price struct {
	Kind     PriceKind
	Amount   money.Amount // with PriceFixed
	Currency string       // with PriceFixed; three capitals
}

// A PriceKind is how the price of a service is known.
type PriceKind uint8

const (
	PriceUnknown  PriceKind = iota // by nobody
	PriceFree                      // there is none
	PriceFixed                     // the same for each request
	PriceReported                  // by each answer, afterwards (O32)
)

type service struct {
	host  pattern
	terms ServiceTerms
}

// Class says whether host, a key of hostkey.Key, is a source or a service.
func (p *Policy) Class(host string) Class {
	if slices.ContainsFunc(p.services, func(s service) bool { return s.host.match(host) }) {
		return Service
	}
	return Source
}

// ServiceFor returns what is said of the service host, a key of hostkey.Key, and
// reports whether it is one. Of several patterns that match it the narrowest
// counts: the list has no order.
func (p *Policy) ServiceFor(host string) (ServiceTerms, bool) {
	var best *service
	for i := range p.services {
		if s := &p.services[i]; s.host.match(host) && (best == nil || s.host.narrower(best.host)) {
			best = s
		}
	}
	if best == nil {
		return ServiceTerms{}, false
	}
	return best.terms, true
}

// Paced reports whether host, a key of hostkey.Key, is asked at its own pace: a
// source is, and a service of which the policy says so.
func (p *Policy) Paced(host string) bool {
	service, ok := p.ServiceFor(host)
	return !ok || service.Pace
}

// Tunnel reports whether host, a key of hostkey.Key, is passed through unread.
func (p *Policy) Tunnel(host string) bool { return matchAny(p.tunnels, host) }

// readServices checks policy.services.
func (p *Policy) readServices(hosts []string, terms []ServiceFile, fault faulter) {
	for i := range max(len(hosts), len(terms)) {
		key := fmt.Sprintf("services[%d]", i)
		var host string
		if i < len(hosts) {
			host = hosts[i]
		}
		pt, err := parsePattern(host)
		if err == nil {
			err = pt.notTooWide()
		}
		if err != nil {
			fault(key, "%v", err)
		}
		s := service{pt, ServiceTerms{Host: pt.String(), Price: Price{Kind: PriceFree}}}
		if i < len(terms) {
			s.terms.read(key, terms[i], fault)
		}
		if at := slices.IndexFunc(p.services, func(o service) bool { return o.host == pt }); at < 0 || err != nil {
			p.services = append(p.services, s)
		} else if p.services[at].terms != s.terms {
			fault(key, "%q is given twice, and not with the same terms", host)
		}
	}
	slices.SortFunc(p.services, func(a, b service) int { return cmp.Compare(a.terms.Host, b.terms.Host) })
}

var fieldName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") // RFC 9110, section 5.6.2

// read checks what is said of a service beside its host.
func (t *ServiceTerms) read(key string, f ServiceFile, fault faulter) {
	t.Pace, t.ChargeHeader = f.Pace, strings.ToLower(f.ChargeHeader)
	switch {
	case f.Price == PriceFile{}:
	case f.Price.Word == "reported":
		t.Price.Kind = PriceReported
	case f.Price.Word == "unknown":
		t.Price.Kind = PriceUnknown
	case f.Price.Word != "":
		fault(key+".price", "%q is none of reported, unknown; an amount is written {amount: \"0.02\", currency: USD}", f.Price.Word)
	default:
		t.Price = Price{PriceFixed, readAmount(key+".price", f.Price.Amount, fault), readCurrency(key+".price", f.Price.Currency, fault)}
	}
	switch {
	case f.ChargeHeader == "" && t.Price.Kind == PriceReported:
		fault(key+".charge_header", "is missing; name the field of an answer that reports its charge")
	case f.ChargeHeader != "" && !fieldName.MatchString(f.ChargeHeader):
		fault(key+".charge_header", "%q is no name of a field", f.ChargeHeader)
	case f.ChargeHeader != "" && t.Price.Kind == PriceFree:
		fault(key+".charge_header", "says nothing of a service that is free; add price: reported")
	}
}

// readTunnels checks policy.tunnels, after policy.services.
func (p *Policy) readTunnels(hosts []string, fault faulter) {
	// Whether a service that cannot be read would cover a tunnel is not known.
	readable := !slices.ContainsFunc(p.services, func(s service) bool { return s.host == pattern{} })
	for i, host := range hosts {
		pt, err := parsePattern(host)
		if err == nil && readable && !slices.ContainsFunc(p.services, func(s service) bool { return s.host.covers(pt) }) {
			err = fmt.Errorf("%q is not covered by services; a tunnel hides the paths that terms speak about, so a source can never be one", host)
		}
		if err != nil {
			fault(fmt.Sprintf("tunnels[%d]", i), "%v", err)
			continue
		}
		p.tunnels = append(p.tunnels, pt)
	}
	p.tunnels = patternSet(p.tunnels)
}

// A serviceForm is a service in the canonical form: its host alone, where no more
// is said of it.
type serviceForm struct {
	ServiceFile
	Host string `json:"host"`
}

// plainService is a serviceForm without its methods, its members in their order.
type plainService struct {
	ChargeHeader string    `json:"charge_header,omitempty"`
	Host         string    `json:"host"`
	Pace         bool      `json:"pace,omitempty"`
	Price        PriceFile `json:"price,omitzero"`
}

// MarshalJSON implements json.Marshaler.
func (s serviceForm) MarshalJSON() ([]byte, error) {
	if s.ServiceFile == (ServiceFile{}) {
		return json.Marshal(s.Host)
	}
	return json.Marshal(plainService{s.ChargeHeader, s.Host, s.Pace, s.Price})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *serviceForm) UnmarshalJSON(text []byte) error {
	*s = serviceForm{}
	if json.Unmarshal(text, &s.Host) == nil {
		return nil
	}
	var p plainService
	err := json.Unmarshal(text, &p)
	*s = serviceForm{ServiceFile{p.ChargeHeader, p.Pace, p.Price}, p.Host}
	return err
}

func (s *service) form() serviceForm {
	f := serviceForm{ServiceFile{ChargeHeader: s.terms.ChargeHeader, Pace: s.terms.Pace}, s.terms.Host}
	switch p := s.terms.Price; p.Kind {
	case PriceFree:
	case PriceFixed:
		f.Price = PriceFile{Amount: p.Amount.String(), Currency: p.Currency}
	case PriceReported:
		f.Price.Word = "reported"
	default:
		f.Price.Word = "unknown"
	}
	return f
}
