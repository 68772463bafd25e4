package bodytype

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// areCompatible reports whether every charset that the lines of Content-Type name
// is ASCII-compatible; where none is named it is taken for one. All count, since
// readers differ in which of two they go by.
func areCompatible(lines []string) bool {
	for label := range charsets(lines) {
		if !compatible[label] {
			return false
		}
	}
	return true
}

// charsets yields the labels of charsets that the lines of Content-Type name.
func charsets(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			_, parameters, _ := strings.Cut(line, ";")
			for p := range strings.SplitSeq(parameters, ";") {
				name, label, _ := strings.Cut(p, "=")
				if strings.EqualFold(strings.Trim(name, " \t"), "charset") && !yield(strings.ToLower(strings.Trim(label, " \t\"'"))) {
					return
				}
			}
		}
	}
}

// metaCharset finds a charset where a page may name one (HTML standard, 13.2.3.2).
var metaCharset = regexp.MustCompile(`(?i)<meta[\s/][^>]*charset\s*=\s*["']?\s*([^\s"'/>;]+)`)

// OtherCharset reports whether an HTML page is said to be in another charset than
// UTF-8: by Content-Type, else by a meta element at its beginning. A byte order mark
// has the say over both.
func OtherCharset(lines []string, page []byte) bool {
	if bytes.HasPrefix(page, []byte("\ufeff")) {
		return false
	}
	named := slices.Collect(charsets(lines))
	if m := metaCharset.FindSubmatch(page[:min(len(page), 1024)]); m != nil && len(named) == 0 {
		named = append(named, strings.ToLower(string(m[1])))
	}
	return slices.ContainsFunc(named, func(label string) bool { return !isUTF8[label] })
}

var isUTF8 = map[string]bool{
	"unicode-1-1-utf-8": true, "unicode11utf8": true, "unicode20utf8": true, "utf-8": true, "utf8": true, "x-unicode20utf8": true,
}

// compatible has the labels, by the Encoding standard (section 4.2), of charsets
// in which each character of ASCII is the byte it is in ASCII.
//
// In Shift_JIS, Big5, GBK and GB18030 the second byte of a character may be that
// of an ASCII letter, digit or @ as well, so that a letter may seem to adjoin an
// ASCII word; none is white space or what markup is made of. They count as HTML
// counts them. Left out are UTF-16 and UTF-32, ISO-2022 and HZ, where bytes of
// ASCII spell something else, UTF-7, where something else spells ASCII, and all
// that is not known.
var compatible = func() map[string]bool {
	all := make(map[string]bool)
	for _, labels := range []string{
		`unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8`,
		// us-ascii and iso-8859-1 among them
		`ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252`,
		`csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2`,
		`csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3`,
		`csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4`,
		`csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988`,
		`arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987`,
		`csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek`,
		`csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical`,
		`cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254`,
		`csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6`,
		`dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874`,
		`iso-8859-13 iso8859-13 iso885913 iso-8859-14 iso8859-14 iso885914`,
		`csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 iso-8859-16`,
		`cp1250 windows-1250 x-cp1250 cp1251 windows-1251 x-cp1251 cp1253 windows-1253 x-cp1253 cp1255 windows-1255 x-cp1255`,
		`cp1256 windows-1256 x-cp1256 cp1257 windows-1257 x-cp1257 cp1258 windows-1258 x-cp1258`,
		`cskoi8r koi koi8 koi8-r koi8_r koi8-ru koi8-u 866 cp866 csibm866 ibm866`,
		`csmacintosh mac macintosh x-mac-roman x-mac-cyrillic x-mac-ukrainian`,
		`cseucpkdfmtjapanese euc-jp x-euc-jp`,
		`cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949`,
		`csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis`,
		`big5 big5-hkscs cn-big5 csbig5 x-x-big5`,
		`chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030`,
	} {
		for _, label := range strings.Fields(labels) {
			all[label] = true
		}
	}
	return all
}()
