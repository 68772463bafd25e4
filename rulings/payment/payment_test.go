package payment

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// header makes a header of pairs, under the names as given.
func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
	}
	return h
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

const version1 = `{"x402Version":1}`

func TestT102_Rails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		h      http.Header
		body   string
		want   Demand
	}{
		{"an answer that asks nothing", 200, header("Content-Type", "text/html"), version1, Demand{}},
		{"License of a 403 asks nothing", 403, header("Www-Authenticate", "License"), "", Demand{}},
		{"license in any letter case, of a 402", 402, header("Www-Authenticate", "LICENSE"), "", Demand{Rail: Licence}},
		{"a scheme that only begins alike", 401, header("Www-Authenticate", "Licensed x"), "", Demand{}},
		{"L402 of a 401 is no demand", 401, header("Www-Authenticate", "L402 token=x"), "", Demand{}},
		{"the second challenge of a line", 402, header("Www-Authenticate", `Basic realm="a, b", charset="UTF-8", Payment id="x"`), "", Demand{Rail: Payment}},
		{"the second line", 401, header("Www-Authenticate", "Basic", "Www-Authenticate", "License"), "", Demand{Rail: Licence}},
		{"a parameter of that name is no scheme", 402, header("Www-Authenticate", `Basic realm="a", license=1, payment = 2`), "", Demand{Rail: Unknown}},
		{"a quoted word is no scheme", 402, header("Www-Authenticate", `Basic realm="\", License x, "`), "", Demand{Rail: Unknown}},
		{"the order: x402 before a price", 402, header("Payment-Required", encode(version1), "Crawler-Price", "USD 1", "Www-Authenticate", "L402"), "", Demand{Rail: X402}},
		{"the order: a price before l402", 402, header("Crawler-Price", "USD 1", "Www-Authenticate", "L402"), "", Demand{Rail: CrawlerPrice, Price: "1", Currency: "USD"}},
		{"the order: l402 before payment", 402, header("Www-Authenticate", "Payment, LSAT"), "", Demand{Rail: L402}},
		{"base64 of the URL alphabet without padding", 402, header("Payment-Required", base64.RawURLEncoding.EncodeToString([]byte(`{"x402Version":2,"a":"???>>>~~"}`))), "", Demand{Rail: X402}},
		{"a field that is no base64 beside a body", 402, header("Payment-Required", "{}"), version1, Demand{Rail: X402}},
		{"a name of another letter case", 402, nil, `{"X402version":1}`, Demand{Rail: Unknown}},
		{"a version that is null", 402, nil, `{"x402Version":null}`, Demand{Rail: Unknown}},
		{"a body that is no object", 402, nil, `["x402Version"]`, Demand{Rail: Unknown}},
		{"a version deeper inside", 402, nil, `{"a":{"x402Version":1}}`, Demand{Rail: Unknown}},
		{"a body of the bound", 402, nil, version1 + strings.Repeat(" ", MaxBody-len(version1)), Demand{Rail: X402}},
		{"a body over it", 402, nil, version1 + strings.Repeat(" ", MaxBody-len(version1)+1), Demand{Rail: Unknown}},
		{"a field over it", 402, header("Payment-Required", encode(version1+strings.Repeat(" ", MaxBody))), "", Demand{Rail: Unknown}},
		{"a price on another status is noted", 403, header("Crawler-Price", "USD 1"), "", Demand{Noted: []string{"crawler-price"}}},
		{"a signature is asked for", 402, header("Accept-Signature", "x"), "", Demand{Rail: Unknown, Noted: []string{"accept-signature"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Demanded(tt.status, tt.h, []byte(tt.body))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT103_Prices(t *testing.T) {
	for line, want := range map[string][2]string{
		"USD 0.01": {"USD", "0.01"}, "EUR 5": {"EUR", "5"}, " JPY 007 ": {"JPY", "007"}, "USD " + strings.Repeat("1", maxAmount): {"USD", strings.Repeat("1", maxAmount)},
		"usd 1": {}, "US 1": {}, "USDC 1": {}, "USD  1": {}, "USD\t1": {}, "USD": {}, "USD ": {}, "1 USD": {}, "USD .5": {}, "USD 5.": {}, "USD 1.2.3": {}, "USD -1": {}, "USD +1": {}, "USD 1e3": {}, "USD 1,5": {}, "USD 1 ?": {}, "USD ١": {}, "": {},
		"USD " + strings.Repeat("1", maxAmount+1): {},
	} {
		d := Demanded(402, header("Crawler-Price", line), nil)
		if d.Rail != CrawlerPrice || d.Currency != want[0] || d.Price != want[1] {
			t.Errorf("%q: %+v, want %q", line, d, want)
		}
	}
	if d := Demanded(402, header("Crawler-Price", "USD 1", "Crawler-Price", "USD 2"), nil); d.Price != "" || d.Currency != "" {
		t.Errorf("two prices: %+v", d)
	}
}

func TestT104_Charges(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.Header
		want string
	}{
		{"as written", header("Crawler-Charged", " USD 0.01"), "USD 0.01"},
		{"no price, still a charge", header("Crawler-Charged", "a cent"), "a cent"},
		{"no value, still a charge", header("Crawler-Charged", ""), "crawler-charged"},
		{"cut to a length", header("Crawler-Charged", strings.Repeat("9", 1000)), strings.Repeat("9", maxCharge)},
		{"a receipt", header("Payment-Response", encode(`{"success":true}`)), "payment-response"},
		{"the second receipt", header("Payment-Response", "x", "Payment-Response", encode(`{"success": true , "a":1}`)), "payment-response"},
		{"a receipt of a failure", header("Payment-Response", encode(`{"success":false}`)), ""},
		{"a receipt of a word", header("Payment-Response", encode(`{"success":"true"}`)), ""},
		{"a receipt that is none", header("Payment-Response", "true"), ""},
	} {
		for _, status := range []int{200, 402, 500} {
			if d := Demanded(status, tt.h, nil); d.Charge != tt.want {
				t.Errorf("%s, of a %d: %q, want %q", tt.name, status, d.Charge, tt.want)
			}
		}
	}
}

func TestT105_FieldsThatSpend(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.Header
		want []string
	}{
		{"none", header("Accept", "*/*", "Authorization", "Bearer License", "Proxy-Authorization", "License x"), nil},
		{"all of them, in any spelling", header("crawler-exact-price", "USD 1", "CRAWLER-MAX-PRICE", "USD 1", "Payment-Signature", "x", "X-Payment", "x", "authorization", "payment x"),
			[]string{"authorization", "crawler-exact-price", "crawler-max-price", "payment-signature", "x-payment"}},
		{"a field without a value", header("X-Payment", ""), []string{"x-payment"}},
		{"trailers that are announced", http.Header{"X-Payment": nil, "Authorization": nil, "X-Sum": nil}, []string{"x-payment"}},
		{"two spellings of Authorization", header("Authorization", "Bearer x", "authorization", "L402 x:y"), []string{"authorization"}},
		{"a scheme without credentials", header("Authorization", "Payment"), []string{"authorization"}},
		{"a scheme behind another", header("Authorization", `Bearer x, LSAT y`), []string{"authorization"}},
		{"a scheme behind a comma", header("Authorization", ", License y"), []string{"authorization"}},
		{"a scheme and a tab", header("Authorization", "\tLicense\ty"), []string{"authorization"}},
		{"parameters of a digest", header("Authorization", `Digest username="a, License b", payment=1`), nil},
		{"a scheme that only begins alike", header("Authorization", "L4023 x"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Spending(tt.h)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// hostile are values meant to be dear.
var hostile = []string{
	strings.Repeat(",", 1<<16), strings.Repeat("\"", 1<<16+1), strings.Repeat("a ", 1<<15), strings.Repeat("License,", 1<<13), encode(strings.Repeat("[", 40000)), encode(strings.Repeat(`{"a":`, 9000)),
	encode(`{"x402Version":` + strings.Repeat("1", 40000) + `}`), strings.Repeat("A", 1<<20), strings.Repeat("=", 1<<16), "\x00\xff", strings.Repeat("USD ", 1<<14),
}

func TestT102_HostileAnswers(t *testing.T) {
	for _, value := range hostile {
		for _, name := range []string{"Www-Authenticate", "Payment-Required", "Payment-Response", "Crawler-Price", "Crawler-Charged"} {
			check(t, 402, name, value, []byte(value))
		}
		checkSpending(t, "Authorization", value)
	}
}

// check holds what callers rely on for any answer.
func check(t *testing.T, status int, name, value string, body []byte) {
	t.Helper()
	h := header(name, value)
	d := Demanded(status, h, body)
	if diff := cmp.Diff(d, Demanded(status, h, body)); diff != "" {
		t.Fatalf("a second reading differs:\n%s", diff)
	}
	switch d.Rail {
	case "":
		if status == 402 {
			t.Fatalf("a 402 asks nothing: %+v", d)
		}
	case Licence, X402, CrawlerPrice, L402, Payment, Unknown:
		if status != 402 && (status != 401 || d.Rail != Licence) {
			t.Fatalf("of a %d: %+v", status, d)
		}
	default:
		t.Fatalf("%+v", d)
	}
	if (d.Price == "") != (d.Currency == "") || len(d.Price) > maxAmount || len(d.Charge) > maxCharge || d.Price != "" && d.Rail != CrawlerPrice {
		t.Fatalf("%+v", d)
	}
}

// checkSpending holds that a value is never returned.
func checkSpending(t *testing.T, name, value string) {
	t.Helper()
	got := Spending(header(name, value))
	if len(got) > 1 || len(got) == 1 && !strings.EqualFold(got[0], name) {
		t.Fatalf("%q: %q", name, got)
	}
}

var seeds = []struct {
	status            int
	name, value, body string
}{
	{402, "Payment-Required", encode(version1), ""}, {402, "Crawler-Price", "USD 0.01", ""}, {401, "Www-Authenticate", `Basic realm="x", License`, ""}, {200, "Payment-Response", encode(`{"success":true}`), ""},
	{402, "X-Payment", "", version1}, {403, "Accept-Signature", "sig1", ""}, {0, "Authorization", "L402 x:y", "{"}, {200, "Crawler-Charged", "USD 1", "null"},
}

func FuzzDemanded(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s.status, s.name, s.value, []byte(s.body))
	}
	f.Fuzz(check)
}

func FuzzSpending(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s.name, s.value)
	}
	f.Fuzz(checkSpending)
}

func BenchmarkDemanded(b *testing.B) {
	usual := header("Content-Type", "text/html", "Date", "x", "Server", "x", "Cache-Control", "x", "Etag", "x", "Vary", "x", "Link", "x", "Set-Cookie", "x", "Strict-Transport-Security", "x", "Content-Length", "1")
	body := []byte(`{"x402Version":1,"accepts":[` + strings.Repeat(`{"scheme":"exact","amount":"1"},`, 2000) + `{}]}`)
	for _, bb := range []struct {
		name   string
		status int
		h      http.Header
		body   []byte
	}{
		{"an answer that asks nothing", 200, usual, nil},
		{"a price", 402, header("Crawler-Price", "USD 0.01"), nil},
		{"a body near the bound", 402, nil, body},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Demanded(bb.status, bb.h, bb.body)
			}
		})
	}
}
