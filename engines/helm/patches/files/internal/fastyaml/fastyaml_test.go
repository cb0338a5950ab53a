package fastyaml

import (
	"math"
	"math/rand"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

// What is random here is the same at each run.
var draw = rand.New(rand.NewSource(1))

var scalars = []any{nil, true, false, 0, -1, int64(7), 1.0, -0.0, math.Copysign(0, -1), 1e6, 1e20, 1e21, 1e22, 1.5, 1e-7,
	math.MaxFloat64, math.Inf(1), math.NaN(), 12345678901234567890.0, float64(1 << 53), float64(1<<53) - 1, float32(1.1), "",
	"text", "y", "no", "~", "null", "1", "1e3", "0x1f", "1:30", "2024-01-01", "a: b", "- a", "# c", " a ", "a\nb\n", "a\tb",
	"tab\t", "\r", "\x00", "\x7f", "é", "\u2028", "\xff", "<<", "'", `"`, "{", "[a]", "&a", "*a", "!a", "|", ">", "%", "@", "`",
	"0o7", "+1", ".5", "1_000", "=", []string(nil), []string{"a", "é"}, []any(nil), map[string]any(nil), []int{1}, uint64(9)}

func value(depth int) any {
	switch kind := draw.Intn(6); {
	case depth > 0 && kind == 0:
		list := make([]any, draw.Intn(4))
		for i := range list {
			list[i] = value(depth - 1)
		}
		return list
	case depth > 0 && kind < 3:
		object := map[string]any{}
		for range draw.Intn(4) {
			name, ok := scalars[draw.Intn(len(scalars))].(string)
			if ok {
				object[name] = value(depth - 1)
			}
		}
		return object
	}
	return scalars[draw.Intn(len(scalars))]
}

func TestMarshalWritesWhatTheWayOverJSONWrites(t *testing.T) {
	for i := range 20000 {
		v := value(3)
		if i < len(scalars) {
			v = scalars[i]
		}
		got, err := Marshal(v)
		want, wantErr := yaml.Marshal(v)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%#v: %q %v, not %q %v", v, got, err, want, wantErr)
		}
	}
}

func TestUnmarshalMapReadsWhatTheWayOverJSONReads(t *testing.T) {
	texts := []string{"", "a", "[]", "null", "{}", "a: 1", "1: a", "1.5: a", "true: a", "yes: a\nno: b", "~: a", "[a]: b", "a: .inf",
		"a: .nan", "a: -0.0", "a: 0x10", "a: 12345678901234567890", "a: 1e400", "a: !!binary /w==", "a: 2024-01-01",
		"a: !!timestamp 2024-01-01", "a: &x {b: 1}\nc: {<<: *x, d: 2}", "a: [", "a: 1\na: 2", "a: |\n  x\n",
		"a: \"\\uD800\"", "a: 1_000", "a: 0o7", "a: 010", "\ta: b", "a: b: c", "--- {a: 1}\n--- {b: 2}", "a: !x y", "? a\n: b"}
	for range 5000 {
		text, err := yaml.Marshal(value(3))
		if err == nil {
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		got, want := map[string]any{}, map[string]any{}
		err, wantErr := UnmarshalMap([]byte(text), &got), yaml.Unmarshal([]byte(text), &want)
		sameError := (err == nil) == (wantErr == nil) && (err == nil || err.Error() == wantErr.Error())
		if !sameError || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v %v, not %#v %v", text, got, err, want, wantErr)
		}
	}
}
