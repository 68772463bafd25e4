package pii

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// found lists what Scan finds, as category and the match itself.
func found(t testing.TB, text string) (list []string) {
	t.Helper()
	findings, _ := Scan([]byte(text))
	for _, f := range findings {
		list = append(list, f.Category+" "+text[f.Start:f.End])
	}
	return list
}

// check tests cases whose wanted matches are of one category and stand in the
// text, or are none. Every text is also tested within others.
func check(t *testing.T, category string, cases []struct{ name, text, want string }) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			if tt.want != "" {
				want = []string{category + " " + tt.want}
			}
			for _, form := range []string{"%s", "(%s)", "\n%s\n", "<td>%s</td>", "“%s”", "call: %s, or"} {
				text := fmt.Sprintf(form, tt.text)
				got := slices.DeleteFunc(found(t, text), func(f string) bool { return !strings.HasPrefix(f, category) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q (-want +got):\n%s", text, diff)
				}
			}
		})
	}
}

func TestO48_MailAddresses(t *testing.T) {
	long := strings.Repeat("l", 64)
	check(t, EmailAddress, []struct{ name, text, want string }{
		{"plain", "jane@example.org", "jane@example.org"},
		{"every character of the local part", "J.a_n%e+x-9@example.org", "J.a_n%e+x-9@example.org"},
		{"several labels, digits and hyphens in them", "j@a-1.2b.example.co.uk", "j@a-1.2b.example.co.uk"},
		{"a dot behind is not part", "jane@example.org.", "jane@example.org"},
		{"a hyphen behind is not part", "jane@example.org-", "jane@example.org"},
		{"nor is a word joined by a hyphen", "jane@example.org-related", "jane@example.org"},
		{"nor a label that cannot be the last", "jane@example.org.1", "jane@example.org"},
		{"a path behind", "jane@example.org/x", "jane@example.org"},
		{"64 before the @", long + "@example.org", long + "@example.org"},
		{"of 65 the last 64", "x" + long + "@example.org", long + "@example.org"},
		{"other letters adjoining", "联系jane@example.org谢谢", "jane@example.org"},
		{"two @", "a@jane@example.org", "jane@example.org"},
		{"nothing before the @", "@example.org", ""},
		{"one label", "jane@localhost", ""},
		{"a last label of one letter", "jane@example.o", ""},
		{"a last label with a digit", "jane@example.org1", ""},
		{"a version", "react@18.2.0-beta.1", ""},
		{"a version that ends in a word and a digit", "lib@1.0.rc1", ""},
		{"a label that begins with a hyphen", "jane@-example.org", ""},
		{"a label that ends with one", "jane@example-.org", ""},
		{"an empty label", "jane@example..org", ""},
		{"a dot at once", "jane@.org", ""},
		{"a blank", "jane @example.org", ""},
	})
}

func TestO48_PaymentCards(t *testing.T) {
	check(t, PaymentCard, []struct{ name, text, want string }{
		{"sixteen digits", "4111111111111111", "4111111111111111"},
		{"blanks", "4111 1111 1111 1111", "4111 1111 1111 1111"},
		{"hyphens", "5500-0000-0000-0004", "5500-0000-0000-0004"},
		{"both, anywhere", "3-40000 00000-0009", "3-40000 00000-0009"},
		{"thirteen digits", "4222222222222", "4222222222222"},
		{"nineteen", "6304000000000000000", "6304000000000000000"},
		{"a first digit of 2", "2223000048400011", "2223000048400011"},
		{"a number before, apart", "1 4111111111111111", "4111111111111111"},
		{"a number behind, apart", "4111111111111111 1", "4111111111111111"},
		{"letters adjoining", "x4111111111111111y", "4111111111111111"},
		{"the sum is wrong", "4111111111111112", ""},
		{"twelve digits", "411111111116", ""},
		{"twenty", "63040000000000000000", ""},
		{"a first digit of 1", "1111111111111117", ""},
		{"a first digit of 7", "7111111111111111", ""},
		{"all equal", "222222222222222222", ""},
		{"a digit adjoining before", "14111111111111111", ""},
		{"a digit adjoining behind", "41111111111111111", ""},
		{"two blanks", "4111 1111  1111 1111", ""},
		{"a line break", "4111 1111\n1111 1111", ""},
		{"dots", "4111.1111.1111.1111", ""},
	})
}

func TestO48_IBANs(t *testing.T) {
	check(t, IBAN, []struct{ name, text, want string }{
		{"in fours", "GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 32"},
		{"in one", "DE89370400440532013000", "DE89370400440532013000"},
		{"in one and small", "de89370400440532013000", "de89370400440532013000"},
		{"blanks elsewhere", "DE 89 3704 00440532013000", "DE 89 3704 00440532013000"},
		{"the shortest in use", "NO9386011117947", "NO9386011117947"},
		{"34 characters", "XX90" + strings.Repeat("0", 30), "XX90" + strings.Repeat("0", 30)},
		{"a word behind, apart", "NO93 8601 1117 947 OSLO", "NO93 8601 1117 947"},
		{"the remainder is wrong", "GB83 WEST 1234 5698 7654 32", ""},
		{"small letters with blanks", "gb82 west 1234 5698 7654 32", "gb82 west 1234 5698 7654 32"},
		{"one small letter with blanks", "GB82 WESt 1234 5698 7654 32", "GB82 WESt 1234 5698 7654 32"},
		{"a small letter with blanks elsewhere", "gb 82west 1234 5698 7654 32", ""},
		{"words of a sentence", "of 1919 street shops opened", ""},
		{"a small letter behind a blank elsewhere, in what would be longer", "GB 82WEST12345698765432 x", "GB 82WEST12345698765432"},
		{"fourteen characters", "XX9000000000000"[:14], ""},
		{"35 characters", "XX90" + strings.Repeat("0", 31), ""},
		{"two blanks", "GB82 WEST  1234 5698 7654 32", ""},
		{"hyphens", "GB82-WEST-1234-5698-7654-32", ""},
		{"a letter adjoining before", "XGB82WEST12345698765432", ""},
		{"a letter adjoining behind", "GB82WEST12345698765432X", ""},
		{"a blank between the letters", "G B82WEST12345698765432", ""},
	})
}

func TestO48_TelephoneNumbers(t *testing.T) {
	check(t, InternationalPhone, []struct{ name, text, want string }{
		{"blanks and parentheses", "+44 (0)20 7946 0958", "+44 (0)20 7946 0958"},
		{"a parenthesis and a blank", "+1 (415) 555-2671", "+1 (415) 555-2671"},
		{"dots", "+49.89.636.48018", "+49.89.636.48018"},
		{"hyphens and parentheses", "+1-(415)-555-2671", "+1-(415)-555-2671"},
		{"eight digits", "+12345678", "+12345678"},
		{"fifteen", "+123456789012345", "+123456789012345"},
		{"a year behind, apart", "+44 20 7946 0958 2024", "+44 20 7946 0958"},
		{"text in other letters before", "电话+8613912345678", "+8613912345678"},
		{"two plus signs", "++12345678", "+12345678"},
		{"seven digits", "+1234567", ""},
		{"sixteen", "+1234567890123456", ""},
		{"behind a letter", "x+12345678", ""},
		{"behind a digit", "1+12345678", ""},
		{"a blank behind the plus sign", "+ 12345678", ""},
		{"two blanks", "+1234  5678", ""},
		{"an offset of a time zone", "12:00:00 +0100", ""},
	})
}

func TestO48_NationalInsuranceNumbers(t *testing.T) {
	check(t, UKNationalInsurance, []struct{ name, text, want string }{
		{"blanks", "AB 12 34 56 C", "AB 12 34 56 C"},
		{"none", "AB123456C", "AB123456C"},
		{"some", "AB 123456C", "AB 123456C"},
		{"small letters", "ab123456c", "ab123456c"},
		{"a blank within a pair", "AB 1 2 34 56 C", ""},
		{"two blanks", "AB  12 34 56 C", ""},
		{"a first letter that is not issued", "QQ 12 34 56 C", ""},
		{"a second one", "AO 12 34 56 C", ""},
		{"an O first is", "OA 12 34 56 C", "OA 12 34 56 C"},
		{"two that are not", "GB 12 34 56 C", ""},
		{"a last letter over D", "AB 12 34 56 E", ""},
		{"no last letter", "AB 12 34 56", ""},
		{"five digits", "AB 12 34 5C", ""},
		{"inside a word, before", "XAB123456C", ""},
		{"inside a word, behind", "AB123456CX", ""},
	})
	for _, never := range "DFIQUV" {
		for _, pair := range []string{string(never) + "A", "A" + string(never)} {
			if got := found(t, pair+"123456C"); got != nil {
				t.Errorf("%s: found %q", pair, got)
			}
		}
	}
}

func TestO48_SocialSecurityNumbers(t *testing.T) {
	check(t, USSocialSecurity, []struct{ name, text, want string }{
		{"plain", "123-45-6789", "123-45-6789"},
		{"the highest area", "899-99-9999", "899-99-9999"},
		{"area 000", "000-45-6789", ""},
		{"area 666", "666-45-6789", ""},
		{"area 900", "900-45-6789", ""},
		{"group 00", "123-00-6789", ""},
		{"serial 0000", "123-45-0000", ""},
		{"a digit before", "1123-45-6789", ""},
		{"a digit behind", "123-45-67890", ""},
		{"a hyphen before", "-123-45-6789", ""},
		{"a hyphen behind", "123-45-6789-", ""},
		{"blanks", "123 45 6789", ""},
		{"cut short", "123-45-678", ""},
	})
}

func TestO48_CategoriesMayOverlapAndComeInOrder(t *testing.T) {
	text := "x 4111111111111111@example.org +4111111111111111 GB82 WEST 1234 5698 7654 32"
	want := []Finding{{PaymentCard, 2, 18}, {EmailAddress, 2, 30}, {PaymentCard, 32, 48}, {IBAN, 49, 76}}
	got, cut := Scan([]byte(text))
	if diff := cmp.Diff(want, got); diff != "" || cut {
		t.Errorf("cut %v, -want +got:\n%s", cut, diff)
	}
}

func TestO48_NoMoreFindingsThanABoundAndTheFirst(t *testing.T) {
	// An address is found from its @, behind the number in it.
	const unit = "+12345678@example.org AB123456C "
	for n := range 3 * MaxFindings {
		text := strings.Repeat(unit, n)
		got, cut := Scan([]byte(text))
		if want := min(3*n, MaxFindings); len(got) != want || cut != (3*n > MaxFindings) {
			t.Fatalf("%d matches: found %d, cut %v", 3*n, len(got), cut)
		}
		for i, f := range got {
			at := i / 3 * len(unit)
			want := []Finding{{InternationalPhone, at, at + 9}, {EmailAddress, at, at + 21}, {UKNationalInsurance, at + 22, at + 31}}[i%3]
			if f != want {
				t.Fatalf("finding %d is %v, want %v", i, f, want)
			}
		}
	}
}

func TestO48_NothingIsFoundInOrdinaryText(t *testing.T) {
	for _, text := range []string{
		"", "@", "+", "0", "Order 4512-8841-2 of 2024-05-17 at 10:30:00 +0200.", "GET /v1/items?page=2&size=100 HTTP/1.1", "sha256:b1512f5e98b151625fec9928af8292cc5271b335d0642d9a86f50d85341ab6f6",
		"550e8400-e29b-41d4-a716-446655440000", "in 2024 we opened three shops and closed one", "1,234,567,890,123,456.00", "10.0.0.1, 192.168.100.200 and ::1", "a + b + 12345678", "@media (min-width: 100px)", "npm install react@18.2.0", "ISBN 978-3-16-148410-0",
		"git@github", "twitter: @example", "3.14159265358979323846", "1 2 3 4 5 6 7 8 9 10 11 12",
	} {
		if diff := cmp.Diff([]string(nil), found(t, text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
