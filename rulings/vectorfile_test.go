package rulings_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/vectors"
)

// vectorsOf reads the vectors of a kind, which is empty for a file that has none,
// in every file of a name below the folder that WAYLEAVE_VECTORS names, or below
// testdata/vectors.
func vectorsOf[T any](t *testing.T, name, kind string) (all []T) {
	t.Helper()
	for _, raw := range vectors.Read[map[string]any](t, os.Getenv("WAYLEAVE_VECTORS"), name, vectors.OfKind(kind)) {
		tree, err := spelledOut(raw)
		if err != nil {
			t.Fatal(err)
		}
		var v T
		if err := fill(reflect.ValueOf(&v).Elem(), tree); err != nil {
			t.Fatalf("%s of %s: %v", raw["id"], name, err)
		}
		all = append(all, v)
	}
	return all
}

// spelledOut replaces x_b64 and x_parts by x, at any level. The octets stay as
// they are, so it works on what JSON was read to.
func spelledOut(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			var err error
			if v[i], err = spelledOut(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, value := range v {
			base, plain, err := name, value, error(nil)
			if of, ok := strings.CutSuffix(name, "_b64"); ok {
				base = of
				plain, err = unbase64(value)
			} else if of, ok := strings.CutSuffix(name, "_parts"); ok {
				base, plain = of, joined(value)
			} else {
				plain, err = spelledOut(value)
			}
			if err != nil {
				return nil, err
			}
			v[base] = plain
		}
	}
	return v, nil
}

func unbase64(v any) (any, error) {
	if list, ok := v.([]any); ok {
		for i := range list {
			var err error
			if list[i], err = unbase64(list[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	octets, err := base64.StdEncoding.DecodeString(v.(string))
	return string(octets), err
}

func joined(v any) string {
	var b strings.Builder
	for _, part := range v.([]any) {
		p := part.(map[string]any)
		b.WriteString(strings.Repeat(p["s"].(string), int(p["n"].(float64))))
	}
	return b.String()
}

// fill sets dst from what JSON was read to. A member goes to the field whose name
// is its own without underscores, in any letter case.
func fill(dst reflect.Value, v any) error {
	if v == nil {
		return nil
	}
	switch from := reflect.ValueOf(v); {
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return fill(dst.Elem(), v)
	case from.Type().AssignableTo(dst.Type()):
		dst.Set(from)
	case dst.Kind() == reflect.Int && from.Kind() == reflect.Float64:
		dst.SetInt(int64(from.Float()))
	case dst.Kind() == reflect.Slice && from.Kind() == reflect.Slice:
		dst.Set(reflect.MakeSlice(dst.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			if err := fill(dst.Index(i), from.Index(i).Interface()); err != nil {
				return err
			}
		}
	case dst.Kind() == reflect.Map && from.Kind() == reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
		for _, key := range from.MapKeys() {
			value := reflect.New(dst.Type().Elem()).Elem()
			if err := fill(value, from.MapIndex(key).Interface()); err != nil {
				return err
			}
			dst.SetMapIndex(key, value)
		}
	case dst.Kind() == reflect.Struct && from.Kind() == reflect.Map:
		for _, key := range from.MapKeys() {
			name := strings.ReplaceAll(key.String(), "_", "")
			field := dst.FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
			if !field.IsValid() {
				continue
			}
			if err := fill(field, from.MapIndex(key).Interface()); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	default:
		return fmt.Errorf("%s does not go into %s", from.Type(), dst.Type())
	}
	return nil
}

// expect compares the members that are present in want (the README of the vectors
// says so) with those of got.
func expect(t *testing.T, want, got map[string]any) {
	t.Helper()
	for name, value := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("nothing is known of %s", name)
		} else if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// listOf is a list as JSON is read to.
func listOf[T ~string](list []T) []any {
	all := make([]any, 0, len(list))
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}
