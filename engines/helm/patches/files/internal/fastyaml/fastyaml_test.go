package fastyaml

import (
	"math"
	"math/rand"
	"reflect"
	"strings"
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

// usual is what values and manifests are made of.
var usual = []string{"", "a", "nginx", "app.kubernetes.io/name", "example.com/a", "8080", "0", "00", "1.25", "1.", "1.2.3", "250m", "1Gi", "10.0.0.0/8", "50%",
	"1e3", "0x1f", "0b1", "0o7", "1_0", "12:30", "2024-01-01", "2024-01-01T00:00:00Z", "2024-x", "v1", "true", "True", "tRUE", "no", "No", "nO", "y", "null", "~",
	"--flag=x", "-v", "-", "--", "---", "--- a", "-1", "- a", "a: b", "a:", "a:b", ":a", "a #b", "a# b", "#a", "{a}", "[a", "*", "&a", "!a", "|", ">", "@a", "%a", "`a",
	"'a'", "it's", "\"a\"", "a\"b", "?", "? a", "<<", "=", "a b", " a", "a ", "a\nb", "a\nb\n", "a\n\nb\n\n", "\na", " a\nb", "a \nb", "a\n  b\n", "a\n\tb", "$(A)", "/a/b",
	"_", "(a)", "a\\b", "^a", "a, b", "http://a:80/b", "1a", "1g", "123456789012345678901234567890", "0123", "9.", ".9", "9.9.", "1,2", "12e", "port1", "port2", "port10",
	"a-b", "a.b", "a_b", "aB", "A", "Z", "b", "zz", "1-2", "sha256:0a1b", "1 2", "12h", "1h30m", "0.5", "00.5", "x: ", "a\n", "\n", "a\n#b\n", "a\n- b: c"}

// sentence is text of a length about that of a line or two, with the spaces, quotes and indicators that decide how it is
// written and where it may go on in another line.
func sentence() string {
	var text strings.Builder
	text.WriteString([]string{"", "", "", "'", "*", "{"}[draw.Intn(6)])
	for length := draw.Intn(180); ; {
		text.WriteString(strings.Repeat("w", 1+draw.Intn([]int{4, 12, 100}[draw.Intn(3)])))
		if text.Len() >= length {
			break
		}
		text.WriteString([]string{" ", " ", " ", " ", "  ", "   ", "' ", " '", ": ", ", "}[draw.Intn(10)])
	}
	text.WriteString([]string{"", "", "'", ":"}[draw.Intn(4)])
	return text.String()
}

func usualValue(depth int) any {
	text := func() string {
		if draw.Intn(8) == 0 {
			return sentence()
		}
		return usual[draw.Intn(len(usual))]
	}
	switch kind := draw.Intn(8); {
	case depth > 0 && kind < 2:
		list := make([]any, draw.Intn(4))
		for i := range list {
			list[i] = usualValue(depth - 1)
		}
		return list
	case depth > 0 && kind < 5:
		object := map[string]any{}
		for range draw.Intn(4) {
			object[text()] = usualValue(depth - 1)
		}
		return object
	case kind == 5:
		return []any{nil, true, false, 1, int64(-7), 1.5, 2.0, 1e20, 1e6, 1e-7}[draw.Intn(10)]
	}
	if draw.Intn(3) == 0 {
		return text() + []string{"", " ", "\n", "-", ":", "/", "."}[draw.Intn(7)] + text()
	}
	return text()
}

func TestQuickMarshalIsNeverWrong(t *testing.T) {
	took := 0
	for range 100000 {
		v := usualValue(3)
		got, ok := quickMarshal(v)
		if !ok {
			continue
		}
		took++
		if want, err := yaml.Marshal(v); err != nil || string(got) != string(want) {
			t.Fatalf("%#v: %q, not %q %v", v, got, want, err)
		}
	}
	if took < 5000 {
		t.Errorf("only %d values went the quick way: nothing was tested", took)
	}
}

// The line is left behind column 80, which deep inside is left of where it goes on.
func TestLongTextGoesOnInAnotherLineWhereTheEmitterLetsIt(t *testing.T) {
	for i := range 100000 {
		depth := draw.Intn(5)
		if i%100 == 0 {
			depth = draw.Intn(60)
		}
		text := sentence()
		v := any(text)
		for level := 0; level == 0 || level < depth; level++ {
			if draw.Intn(2) == 0 {
				v = []any{v}
			} else {
				v = map[string]any{"k" + strings.Repeat("e", draw.Intn(90)): v, "z": "a b"}
			}
		}
		got, ok := quickMarshal(v)
		if !ok {
			t.Fatalf("%q takes the long way", text)
		}
		if want, err := yaml.Marshal(v); err != nil || string(got) != string(want) {
			t.Fatalf("%q, %d deep: %q, not %q %v", text, depth, got, want, err)
		}
	}
}

func TestUsualValuesGoTheQuickWay(t *testing.T) {
	for _, v := range []any{
		map[string]any{"app.kubernetes.io/name": "a", "helm.sh/chart": "a-1.0.0", "app.kubernetes.io/version": "17.2"},
		map[string]any{"limits": map[string]any{"cpu": "250m", "memory": "1Gi"}, "requests": map[string]any{"cpu": 1.0}},
		[]any{map[string]any{"name": "A", "value": "true"}, map[string]any{"name": "B", "value": "it's: x"}, "--x=1", "*"},
		map[string]any{"data": "a: b\nc:\n  d\n", "empty": map[string]any{}, "list": []any{}, "none": nil, "host": "10.0.0.0/8"},
		map[string]any{"description": strings.Repeat("a long text ", 20) + "to its end"},
	} {
		if _, ok := quickMarshal(v); !ok {
			t.Errorf("%#v takes the long way", v)
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
