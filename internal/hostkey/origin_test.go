package hostkey

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestParseOriginT13(t *testing.T) {
	for _, tt := range []struct {
		name, scheme, authority string
		want                    Origin
		text                    string
	}{
		{"https has port 443", "https", "a.example", Origin{"https", "a.example", 443}, "https://a.example"},
		{"http has port 80", "http", "a.example", Origin{"http", "a.example", 80}, "http://a.example"},
		{"a default port written out is the same", "https", "A.Example.:443", Origin{"https", "a.example", 443}, "https://a.example"},
		{"the other scheme's port is a port", "http", "a.example:443", Origin{"http", "a.example", 443}, "http://a.example:443"},
		{"a scheme in capitals", "HTTPS", "a.example:8443", Origin{"https", "a.example", 8443}, "https://a.example:8443"},
		{"a colon without a port", "http", "a.example:", Origin{"http", "a.example", 80}, "http://a.example"},
		{"leading zeros in a port", "http", "a.example:0080", Origin{"http", "a.example", 80}, "http://a.example"},
		{"IPv6", "https", "[2001:DB8:0::1]", Origin{"https", "2001:db8::1", 443}, "https://[2001:db8::1]"},
		{"IPv6 with a port", "http", "[::1]:8080", Origin{"http", "::1", 8080}, "http://[::1]:8080"},
		{"IPv4-mapped IPv6 is IPv4", "http", "[::ffff:192.0.2.1]:80", Origin{"http", "192.0.2.1", 80}, "http://192.0.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseOrigin(tt.scheme, tt.authority)
			if err != nil || got != tt.want || got.String() != tt.text {
				t.Errorf("ParseOrigin(%q, %q) = %+v (%s), %v, want %+v (%s)", tt.scheme, tt.authority, got, got, err, tt.want, tt.text)
			}
		})
	}
}

func TestParseOriginT13Refuses(t *testing.T) {
	for _, tt := range []struct{ name, scheme, authority string }{
		{"a scheme that is not HTTP", "ftp", "a.example:80"},
		{"no scheme", "", "a.example"},
		{"no host", "http", ""},
		{"a port alone", "http", ":80"},
		{"userinfo", "http", "user:secret@a.example"},
		{"empty userinfo", "http", "@a.example"},
		{"port 0", "http", "a.example:0"},
		{"port 65536", "http", "a.example:65536"},
		{"a port with a sign", "http", "a.example:+80"},
		{"a named port", "http", "a.example:http"},
		{"two ports", "http", "a.example:80:80"},
		{"a path", "http", "a.example/x"},
		{"IPv6 without brackets", "http", "2001:db8::1"},
		{"a zone", "http", "[fe80::1%25eth0]:80"},
		{"a zone written bare", "http", "[fe80::1%eth0]"},
		{"text behind the bracket", "http", "[::1]x"},
		{"a bracket left open", "http", "[::1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseOrigin(tt.scheme, tt.authority)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("ParseOrigin(%q, %q) = %+v, %v, want ErrInvalid", tt.scheme, tt.authority, got, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes userinfo: %v", err)
			}
		})
	}
}

func TestOriginAddr(t *testing.T) {
	for _, tt := range []struct {
		name, authority, want string
	}{
		{"IPv4", "0x7f.1", "127.0.0.1"},
		{"IPv6", "[::1]:8080", "::1"},
		{"localhost is no address", "localhost", ""},
		{"nor is a name that ends in a digit", "web1.host2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := ParseOrigin("http", tt.authority)
			if err != nil {
				t.Fatal(err)
			}
			addr, ok := o.Addr()
			if ok != (tt.want != "") || ok && addr.String() != tt.want {
				t.Errorf("Addr of %s = %v, %v, want %q", o, addr, ok, tt.want)
			}
		})
	}
}

var (
	plainFileKey  = regexp.MustCompile(`^[a-z0-9.-]{1,64}(_https?_[0-9]+)?$`)
	hashedFileKey = regexp.MustCompile(`^[a-z0-9._-]{1,40}-[0-9a-f]{64}$`)
)

func TestFileKeyT14(t *testing.T) {
	long := strings.Repeat("a", 56) // with ".example" 64 octets
	for _, tt := range []struct {
		name, scheme, authority string
		hashed                  bool
	}{
		{"64 octets are plain", "https", long + ".example", false},
		{"65 octets are hashed", "https", long + "a.example", true},
		{"64 octets with another port are longer than 64", "https", long + ".example:8443", true},
		{"an underscore is hashed", "https", "a_http_80", true},
		{"IPv6 is hashed", "https", "[2001:db8::1]", true},
		{"IPv4 is plain", "http", "127.0.0.1:8080", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := ParseOrigin(tt.scheme, tt.authority)
			if err != nil {
				t.Fatal(err)
			}
			want := plainFileKey
			if tt.hashed {
				want = hashedFileKey
			}
			if key := o.FileKey(); !want.MatchString(key) {
				t.Errorf("FileKey of %s = %q", o, key)
			}
		})
	}
	https, _ := ParseOrigin("https", "a.example")
	http, _ := ParseOrigin("http", "a.example")
	if https.FileKey() == http.FileKey() {
		t.Errorf("http and https share the file %q", http.FileKey())
	}
}
