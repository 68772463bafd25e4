package bodytype

import (
	"strings"
	"testing"
)

const limit = 2 << 20

// typed is the head of a usual answer of a type.
func typed(types ...string) Head { return Head{Status: 200, Types: types, Length: 1000} }

func TestO41_ReadableTypes(t *testing.T) {
	for value, want := range map[string]Kind{
		"text/html": HTML, "Text/HTML ; charset=utf-8": HTML, "application/xhtml+xml": HTML, "text/html;": HTML,
		"text/plain": Text, "text/markdown; variant=GFM": Text, "text/x-anything": Text, "text/xml": Text, "text/css": Text,
		"application/json": Text, "application/problem+json": Text, "application/ld+json;profile=x": Text, "application/xml": Text, "application/rss+xml": Text, "image/svg+xml": Text,
		"application/javascript": Text, "text/javascript": Text, "application/yaml": Text, "application/openapi+yaml": Text,
		"": Undecided, " ": Undecided,
	} {
		v := ByHead(typed(value), limit)
		if v.Kind != want || v.Reason != "" || v.Settled() || v.Readable() != (want != Undecided) {
			t.Errorf("%q: %+v, want %v", value, v, want)
		}
	}
	if v := ByHead(typed(), limit); v != (Verdict{}) {
		t.Errorf("no type: %+v", v)
	}
}

func TestO44_UnreadableTypes(t *testing.T) {
	for value, want := range map[string]Reason{
		"application/pdf": PDF, "application/PDF; x=y": PDF, "application/x-pdf": PDF,
		"application/msword": Office, "application/vnd.openxmlformats-officedocument.wordprocessingml.document": Office, "application/vnd.oasis.opendocument.text": Office,
		"application/vnd.ms-excel": Office, "application/vnd.ms-powerpoint.presentation.macroenabled.12": Office, "application/epub+zip": Office, "application/rtf": Office, "text/rtf": Office,
		"text/event-stream": Stream, "text/event-stream;charset=utf-8": Stream, "application/x-ndjson": Stream, "application/jsonl": Stream, "application/json-seq": Stream, "multipart/x-mixed-replace; boundary=x": Stream,
		"application/grpc": Stream, "application/grpc+json": Stream, "application/grpc-web+proto": Stream, "application/connect+json": Stream,
		"image/png": Type, "application/octet-stream": Type, "application/zip": Type, "font/woff2": Type, "multipart/form-data": Type, "application/x-www-form-urlencoded": Type,
		"html": Type, "text/": Type, "/html": Type, "text/html, text/plain": Type, "text /html": Type, "text/h\u00e4": Type, "*/*; x": Type,
	} {
		if v := ByHead(typed(value), limit); v != unreadable(want) || !v.Settled() || v.Readable() {
			t.Errorf("%q: %+v, want %s", value, v, want)
		}
	}
}

func TestO44_WhatTheHeadSettles(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Head
		want Verdict
	}{
		{"the limit", Head{Status: 200, Types: []string{"text/plain"}, Length: limit}, Verdict{Kind: Text}},
		{"over the limit", Head{Status: 200, Types: []string{"text/plain"}, Length: limit + 1}, unreadable(Length)},
		{"over the limit while it is coded", Head{Status: 200, Types: []string{"text/plain"}, Codings: []string{"br"}, Length: limit + 1}, Verdict{Kind: Text}},
		{"over the limit while it is not coded after all", Head{Status: 200, Types: []string{"text/plain"}, Codings: []string{"identity"}, Length: limit + 1}, unreadable(Length)},
		{"coded, and longer than is held", Head{Status: 200, Types: []string{"text/plain"}, Codings: []string{"br"}, Length: MaxCoded(limit) + 1}, unreadable(Length)},
		{"over the limit without a type", Head{Status: 200, Length: limit + 1}, unreadable(Length)},
		{"an unknown length", Head{Status: 200, Types: []string{"text/html"}, Length: -1}, Verdict{Kind: HTML}},
		{"an error page", Head{Status: 500, Types: []string{"text/html"}, Length: 9}, Verdict{Kind: HTML}},
		{"a part", Head{Status: 206, Types: []string{"text/html"}, Length: 9}, unreadable(Partial)},
		{"a websocket", Head{Status: 101, Upgraded: true}, unreadable(Websocket)},
		{"more codings than four", Head{Status: 200, Types: []string{"text/html"}, Codings: []string{"GZIP , deflate", "", "br, zstd"}, Length: 9}, unreadable(Coding)},
		{"four that are known", Head{Status: 200, Types: []string{"text/html"}, Codings: []string{"x-gzip,deflate", "br\t, Identity"}, Length: 9}, Verdict{Kind: HTML}},
		{"one that is not", Head{Status: 200, Types: []string{"text/html"}, Codings: []string{"gzip, compress"}, Length: 9}, unreadable(Coding)},
		{"one that is not, without a type", Head{Status: 200, Codings: []string{"aes128gcm"}, Length: 9}, unreadable(Coding)},
		{"two types that agree", typed("text/html", " text/html;charset=utf-8"), Verdict{Kind: HTML}},
		{"two that do not", typed("text/html", "text/plain"), unreadable(Type)},
		{"two of which one is empty", typed("", "text/plain"), Verdict{Kind: Text}},
		{"no body, of a picture", Head{Status: 200, Types: []string{"image/png"}}, Verdict{Kind: Text}},
		{"no body, of HTML", Head{Status: 200, Types: []string{"text/html; charset=utf-16"}}, Verdict{Kind: HTML}},
		{"no body, of a stream in part", Head{Status: 206, Types: []string{"text/event-stream"}}, Verdict{Kind: Text}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ByHead(tt.h, limit); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestO44_Charsets(t *testing.T) {
	for parameters, ok := range map[string]bool{
		"": true, "; charset=utf-8": true, "; charset=UTF8": true, `;CHARSET="utf-8"`: true, "; charset='utf-8'": true, ";charset = iso-8859-1 ": true, ";x=y;charset=Shift_JIS": true, ";charset=us-ascii;charset=utf-8": true,
		"; charset=utf-16": false, "; charset=UTF-16LE": false, "; charset=utf-32": false, "; charset=iso-2022-jp": false, "; charset=iso-2022-kr": false, "; charset=hz-gb-2312": false, "; charset=utf-7": false,
		"; charset=": false, "; charset": false, "; charset=x": false, ";charset=utf-8;charset=utf-16": false, `;x="a;charset=utf-16"`: false,
	} {
		want := Verdict{Kind: HTML}
		if !ok {
			want = unreadable(Charset)
		}
		if got := ByHead(typed("text/html"+parameters), limit); got != want {
			t.Errorf("%q: %+v", parameters, got)
		}
	}
	if v := ByHead(typed("text/html", "text/html;charset=utf-16"), limit); v != unreadable(Charset) {
		t.Errorf("in the second line: %+v", v)
	}
}

func TestO41_TheFirstBytes(t *testing.T) {
	pad := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name, first string
		untyped     Verdict // what they make of no type
		typed       Verdict // and of text
	}{
		{"none", "", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"text", "hello \u00e4", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"HTML is HTML by its type only", "<!DOCTYPE html>", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"a PDF", "%PDF-1.7", unreadable(PDF), unreadable(PDF)},
		{"what only speaks of one", "%PDF is a format", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"a PDF further on", " %PDF-1.7", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"no UTF-8", "caf\xe9", unreadable(Type), Verdict{Kind: Text}},
		{"a zero byte", "hello\x00", unreadable(Type), Verdict{Kind: Text}},
		{"a zero byte behind 512", pad(512) + "\x00", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"a zero byte at the end of 512", pad(511) + "\x00", unreadable(Type), Verdict{Kind: Text}},
		{"no UTF-8 behind 512", pad(512) + "\xff", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"a character cut after one byte of two", pad(511) + "\u00e4", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"after two of three", pad(510) + "\u20ac", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"after three of four", pad(509) + "\U0001f3f4", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"a whole one at the end", pad(509) + "\u20ac", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"half of one at the end of a shorter body", pad(510) + "\xc3", unreadable(Type), Verdict{Kind: Text}},
		{"a byte at the end that begins none", pad(511) + "\xff", unreadable(Type), Verdict{Kind: Text}},
		{"bytes at the end that continue none", pad(508) + "\x80\x80\x80\x80", unreadable(Type), Verdict{Kind: Text}},
		{"a byte order mark of UTF-8", "\ufeffhello", Verdict{Kind: Text}, Verdict{Kind: Text}},
		{"of UTF-16", "\xff\xfeh\x00", unreadable(Charset), unreadable(Charset)},
		{"of UTF-16, the other way", "\xfe\xff\x00h", unreadable(Charset), unreadable(Charset)},
		{"of UTF-32", "\x00\x00\xfe\xff", unreadable(Charset), unreadable(Charset)},
		{"UTF-16 without one", "<\x00h\x00", unreadable(Charset), unreadable(Charset)},
		{"UTF-32 without one", "\x00\x00\x00<", unreadable(Charset), unreadable(Charset)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Verdict{}).ByContent([]byte(tt.first)); got != tt.untyped {
				t.Errorf("untyped: %+v, want %+v", got, tt.untyped)
			}
			if got := (Verdict{Kind: Text}).ByContent([]byte(tt.first)); got != tt.typed {
				t.Errorf("text: %+v, want %+v", got, tt.typed)
			}
			want := tt.typed
			if want.Readable() {
				want.Kind = HTML
			}
			if got := (Verdict{Kind: HTML}).ByContent([]byte(tt.first)); got != want {
				t.Errorf("HTML: %+v, want %+v", got, want)
			}
			if got := unreadable(Stream).ByContent([]byte(tt.first)); got != unreadable(Stream) {
				t.Errorf("settled, and then %+v", got)
			}
		})
	}
}

func TestO37_Textless(t *testing.T) {
	for value, want := range map[string]bool{
		"image/png": true, "IMAGE/PNG; x=y": true, "audio/mpeg": true, "video/mp4": true, "font/woff2": true, "model/stl": true, "application/zip": true, "application/x-7z-compressed": true, "application/octet-stream": true, "binary/octet-stream": true, "application/x-font-ttf": true, "application/vnd.ms-fontobject": true,
		"": false, "text/html": false, "image/svg+xml": false, "model/gltf+json": false, "application/pdf": false, "application/epub+zip": false, "application/msword": false, "text/event-stream": false, "application/x-unheard-of": false, "x": false,
	} {
		if got := Textless(typed(value)); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	for _, tt := range []struct {
		name string
		h    Head
		want bool
	}{
		{"empty", Head{Status: 200, Types: []string{"text/html"}}, true},
		{"empty PDF", Head{Status: 200, Types: []string{"application/pdf"}}, true},
		{"of unknown length", Head{Status: 200, Types: []string{"text/html"}, Length: -1}, false},
		{"no type", Head{Status: 200, Length: 9}, false},
		{"two types, one textless", typed("image/png", "text/html"), false},
		{"two types, both", typed("image/png", "image/gif"), true},
		{"a websocket", Head{Status: 101, Upgraded: true}, false},
	} {
		if got := Textless(tt.h); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestO37_Blank(t *testing.T) {
	for content, want := range map[string]bool{
		"": true, " \t\r\n\f\v": true, "\u00a0\u2003": true, "\ufeff": true, "\ufeff \n": true,
		"x": false, " . ": false, "\x00": false, "\xff": false, "<p></p>": false, "\u200b": false,
	} {
		if got := Blank([]byte(content)); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
}

func TestTheZeroVerdictIsNotReadable(t *testing.T) {
	if v := (Verdict{}); v.Readable() || v.Settled() {
		t.Errorf("%+v", v)
	}
}
