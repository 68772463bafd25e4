package hostkey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// An Origin is a scheme, a host and a port (specs: terms T13). Two origins are
// the same exactly if they are equal. Only ParseOrigin makes origins whose Host
// is a key.
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // as Key returns it
	Port   uint16
}

// ParseOrigin reads the origin of scheme, http or https in any letter case, and
// authority, which is host[:port] with an IPv6 address in brackets. No port is
// the scheme's own. Userinfo, a zone and a port outside 1 to 65535 are errors,
// like a host without a key; all of them wrap ErrInvalid.
func ParseOrigin(scheme, authority string) (Origin, error) {
	o := Origin{Scheme: strings.ToLower(scheme)}
	if o.Port = defaultPort(o.Scheme); o.Port == 0 {
		return Origin{}, invalid(authority, "scheme is neither http nor https")
	}
	if strings.Contains(authority, "@") {
		// Not quoted: it is likely a password.
		return Origin{}, fmt.Errorf("%w: userinfo before the host", ErrInvalid)
	}
	host, port := splitPort(authority)
	if strings.Contains(host, ":") && (host[0] != '[' || strings.Contains(host, "%")) {
		return Origin{}, invalid(authority, "IPv6 without brackets, or with a zone")
	}
	if port != "" {
		n, err := parsePort(port)
		if err != nil {
			return Origin{}, invalid(authority, "bad port")
		}
		o.Port = n
	}
	var err error
	o.Host, err = Key(host)
	if err != nil {
		return Origin{}, err
	}
	return o, nil
}

// splitPort parts authority at the colon behind the host. A colon with nothing
// behind it is no port (RFC 3986, section 6.2.3).
func splitPort(authority string) (host, port string) {
	i := strings.LastIndexByte(authority, ':')
	if i <= strings.LastIndexByte(authority, ']') {
		return authority, ""
	}
	return authority[:i], authority[i+1:]
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return uint16(n), err
}

// defaultPort is the port of scheme, 0 for schemes that are not HTTP.
func defaultPort(scheme string) uint16 {
	switch scheme {
	case "https":
		return 443
	case "http":
		return 80
	}
	return 0
}

// String returns scheme://host[:port] without the scheme's own port, an IPv6
// host in brackets.
func (o Origin) String() string {
	if o.Port == defaultPort(o.Scheme) {
		return o.Scheme + "://" + o.hostText()
	}
	return o.Scheme + "://" + o.Authority()
}

// Authority returns host:port, always with the port, an IPv6 host in brackets.
func (o Origin) Authority() string {
	return o.hostText() + ":" + strconv.Itoa(int(o.Port))
}

func (o Origin) hostText() string {
	if strings.Contains(o.Host, ":") {
		return "[" + o.Host + "]"
	}
	return o.Host
}

// Addr returns the address when Host is one. localhost is a name.
func (o Origin) Addr() (netip.Addr, bool) {
	if !strings.Contains(o.Host, ":") && !endsInNumber(o.Host) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(o.Host)
	return addr, err == nil
}

const (
	maxFileKey    = 64 // octets of a file key that is readable as a whole
	fileKeyPrefix = 40 // readable octets of one that is not
)

// FileKey returns the name, without extension, of the file that keeps what the
// origin said (specs: terms T14). It is a safe file name of at most 105 octets,
// and different origins have different ones.
func (o Origin) FileKey() string {
	key := o.Host
	if o.Scheme != "https" || o.Port != 443 {
		key += "_" + o.Scheme + "_" + strconv.Itoa(int(o.Port))
	}
	if len(key) <= maxFileKey && strings.IndexFunc(o.Host, notInFileKey) < 0 {
		return key
	}
	// The underscore parts host, scheme and port above, so a host that has one
	// must not reach a plain key.
	sum := sha256.Sum256([]byte(o.Scheme + "://" + o.Authority()))
	readable := strings.Map(func(r rune) rune {
		if notInFileKey(r) {
			return '_'
		}
		return r
	}, key[:min(len(key), fileKeyPrefix)])
	return readable + "-" + hex.EncodeToString(sum[:])
}

func notInFileKey(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '-')
}
