package links

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const rsl = `; rel="license"; type="application/rsl+xml"`

// A linkCase is one field line, or several, and what it names. The licences are
// relative to https://o.example/.
type linkCase struct {
	name     string
	fields   []string
	licences []string
	unread   []string
}

func runCases(t *testing.T, cases []linkCase) {
	t.Helper()
	page := parseURL(t, "https://o.example/dir/page?q=1")
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			want := Result{Unread: tt.unread}
			for _, l := range tt.licences {
				if !strings.Contains(l, "://") {
					l = "https://o.example/" + l
				}
				want.Licences = append(want.Licences, l)
			}
			if diff := cmp.Diff(want, Licences(page, tt.fields), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT59_AMemberIsTakenApart(t *testing.T) {
	runCases(t, []linkCase{
		{name: "a tab is white space", fields: []string{"\t</l>\t;\trel\t=\tlicense\t;type=application/rsl+xml\t"}, licences: []string{"l"}},
		{name: "of a repeated rel the first counts", fields: []string{"</l>; rel=next; rel=license; type=application/rsl+xml"}},
		{name: "of a repeated type the first counts", fields: []string{`</l>; rel=license; type=application/rsl+xml; type="text/html"`}, licences: []string{"l"}},
		{name: "a repeated rel without a value is a rel", fields: []string{"</l>; rel; rel=license; type=application/rsl+xml"}},
		{name: "a comma ends a bare value", fields: []string{"</l>; rel=license; type=application/rsl+xml,</m>; rel=license"}, licences: []string{"l"}},
		{name: "a comma in brackets of a parameter ends nothing", fields: []string{`</l>; t=<a,b>` + rsl}, licences: []string{"l"}},
		{name: "an escaped backslash before the quote", fields: []string{`</l>; title="a\\"` + rsl}, licences: []string{"l"}},
		{name: "words behind a bare value are no part of it", fields: []string{"</l>; rel=license x; type=application/rsl+xml y"}, licences: []string{"l"}},
		{name: "each line by itself: a quote left open ends with it", fields: []string{`</n>; rel=next; title="a`, "</l>" + rsl}, licences: []string{"l"}},
	})
}

func TestT60_ALicenceIsNamedByRelAndType(t *testing.T) {
	runCases(t, []linkCase{
		{name: "a relative target", fields: []string{"<l.xml>" + rsl, "<?r=2>" + rsl, "<../up>" + rsl, "<//e.example/x>" + rsl}, licences: []string{"dir/l.xml", "dir/page?r=2", "up", "https://e.example/x"}},
		{name: "an empty target is the page", fields: []string{"<>" + rsl}, licences: []string{"dir/page?q=1"}},
		{name: "UTF-8 in the query is percent-encoded", fields: []string{"</l?a=é b>" + rsl}, licences: []string{"l?a=%C3%A9%20b"}},
		{name: "licenses is not license", fields: []string{`</l>; rel="licenses nolicense"; type="application/rsl+xml"`}},
		{name: "a type that begins alike", fields: []string{`</l>; rel=license; type="application/rsl+xmlx"`}},
		{name: "a long s is no s", fields: []string{"</l>; rel=licenſe; type=\"application/rsl+xml\""}},
		{name: "userinfo and ports are left to whoever asks", fields: []string{"<http://u@e.example:8080/l>" + rsl}, licences: []string{"http://u@e.example:8080/l"}},
	})
}

func TestT61_AnAnchorElsewhereSaysNothing(t *testing.T) {
	anchored := func(anchor string) []string { return []string{`</l>; anchor="` + anchor + `"` + rsl} }
	runCases(t, []linkCase{
		{name: "another page", fields: anchored("/other")},
		{name: "the page with another query", fields: anchored("?q=2")},
		{name: "the page of another scheme", fields: anchored("http://o.example/dir/page?q=1")},
		{name: "another host", fields: anchored("//e.example/dir/page?q=1")},
		{name: "another port", fields: anchored("https://o.example:444/dir/page?q=1")},
		{name: "the page", fields: anchored("https://O.example:443/dir/%70age?q=1#x"), licences: []string{"l"}},
		{name: "an empty anchor", fields: anchored(""), licences: []string{"l"}},
		{name: "an anchor that is no URL", fields: anchored("http://[x"), licences: []string{"l"}},
		{name: "an unreadable target there", fields: []string{`<data:x>; anchor="/other"` + rsl}},
	})
	// A page that is sent in a spelling no URL has, or with dot segments, is itself.
	for _, target := range []string{"/x?q={1}", "/x?q=a|b", "/x?q=é", "/{x}", "/a/../b", "/a/./b?q=1", "/a/..", "/"} {
		page := parseURL(t, "https://o.example"+target)
		for _, anchor := range []string{"", "#a", "https://o.example" + target, target} {
			if got := Licences(page, anchored(anchor)); len(got.Licences) != 1 {
				t.Errorf("on %s the anchor %q is elsewhere", target, anchor)
			}
		}
		if got := Licences(page, anchored("/other")); len(got.Licences) != 0 {
			t.Errorf("on %s another page is the page", target)
		}
	}
}

func TestT62_StarredValues(t *testing.T) {
	runCases(t, []linkCase{
		{name: "a starred rel alone", fields: []string{"</l>; rel*=utf-8''lic%65nse; type=application/rsl+xml"}, licences: []string{"l"}},
		{name: "a starred type alone, with a language, in quotes", fields: []string{`</l>; rel=license; type*="ISO-8859-1'en'application/rsl%2Bxml"`}, licences: []string{"l"}},
		{name: "both agree", fields: []string{"</l>; rel*=UTF-8''license%20%e2%82%ac" + rsl}, licences: []string{"l"}},
		{name: "they agree that it is none", fields: []string{"</l>; rel=license; rel*=UTF-8''next; type=text/html"}},
		{name: "the types disagree", fields: []string{"</l>; type*=UTF-8''text%2Fhtml" + rsl}, unread: []string{"</l>; type*=UTF-8''text%2Fhtml" + rsl}},
		{name: "the plain one settles what cannot be decoded", fields: []string{"</l>; rel*=x''license" + rsl}, licences: []string{"l"}},
	})
}

func TestT63_AMemberThatSpeaksOfALicenceAndCannotBeRead(t *testing.T) {
	unread := func(name, field string) linkCase {
		return linkCase{name: name, fields: []string{" " + field + " "}, unread: []string{field}}
	}
	runCases(t, []linkCase{
		unread("no brackets", "/l; rel=license"),
		unread("text before the bracket", "x </l>"+rsl),
		unread("a second target inside the first", "</l"+strings.ReplaceAll(rsl, `"`, "")+" </m>"+rsl),
		unread("a control octet in the target", "</l\x01>"+rsl),
		unread("no host", "<https:///l>"+rsl),
		unread("a port that is none", "<https://e.example:99999/l>"+rsl),
		unread("a type that is not UTF-8", "</l>; rel=license; type=\"application/rsl+xml\xe9\""),
		unread("a starred rel with a broken escape", "</l>; rel*=UTF-8''license%2; type=application/rsl+xml"),
		unread("a starred rel without a charset", "</l>; rel*=license; type=application/rsl+xml"),
		unread("a starred type that cannot be decoded", "</l>; rel=license; type*=x''application%2Frsl+xml"),
		unread("a missing semicolon", `</l>; rel=license type="application/rsl+xml"`),
		unread("a name of two words", "</l>; re l=license; type=application/rsl+xml"),
		unread("a name that is empty", "</l>; =license; type=application/rsl+xml"),
		unread("the word in another letter case", "</l; rel=LICENSE"),
		{name: "a bad name beside rel and type", fields: []string{"</l>; b@d=1" + rsl}, licences: []string{"l"}},
		{name: "a bad name in a member without the word", fields: []string{"</l>; b@d=1; type=application/rsl+xml"}},
		{name: "a starred rel that does not mention it", fields: []string{"</l>; rel*=x''next; type=application/rsl+xml"}},
		{name: "a starred rel beside another type", fields: []string{"</l>; rel*=x''license; type=text/html"}},
		{name: "a quote left open elsewhere", fields: []string{`</n>; rel="next`}},
	})
}

func TestT64_NoMoreLicencesThanABound(t *testing.T) {
	var members []string
	for i := range MaxLicences + 2 {
		members = append(members, fmt.Sprintf("</l%d>%s", i, rsl))
	}
	members = append(members, members[0])
	got := Licences(parseURL(t, "https://o.example/"), []string{strings.Join(members, ", ")})
	if len(got.Licences) != MaxLicences || !slices.Equal(got.Unread, members[MaxLicences:MaxLicences+2]) {
		t.Errorf("%d licences, unread %q", len(got.Licences), got.Unread)
	}
}

func TestT60_WithoutAPageOnlyAbsoluteTargetsAreRead(t *testing.T) {
	got := Licences(nil, []string{"</l>" + rsl + `, <https://e.example/l>; anchor="/x"` + rsl})
	want := Result{Licences: []string{"https://e.example/l"}, Unread: []string{"</l>" + rsl}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
