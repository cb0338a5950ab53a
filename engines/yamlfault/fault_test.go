package yamlfault

import (
	"strings"
	"testing"
)

func TestFindsTheLineOfAFault(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		line int
	}{
		"none":                          {"a: b\n---\nc: [d, {e: f}]\n", 0},
		"nothing":                       {"", 0},
		"a key between two levels":      {"# text\nkind: A\nmetadata:\n  name: x\ndata:\n    a: b\n  c: d\ne: f\n", 7},
		"a key left of its siblings":    {"a:\n  b:\n    c: d\n e: f\n", 4},
		"an item among keys":            {"a: b\nc: d\n- e\nf: g\n", 3},
		"a key among items":             {"a:\n- b\n- c\nd\n", 4},
		"the wrong bracket":             {"a: b\nc: [d,\n  e: f}\ng: h\n", 3},
		"a bracket too many":            {"a: b\nc: [d]]\ne: f\n", 2},
		"brackets in brackets":          {"a: {b: [c,\n  d, {e: f,\n   g: h}],\n  i: j]\n}\nk: l\n", 4},
		"a bracket that never ends":     {"a: 1\nb: [\nc: 2\n", 2},
		"the same in the first line":    {"b: [1,\n2,\n3\n", 1},
		"the same without content":      {"# text\na: [b,\n c]\nd:\n- e\nf: [\n", 6},
		"the same before many lines":    {"a: b\nc: {\n" + strings.Repeat("  d: e,\n", 3000), 2},
		"the same behind many lines":    {strings.Repeat("d: [e,\n  f]\n", 3000) + "c: [\n", 6001},
		"a brace that never ends":       {"a: 1\nb: {c: d\n", 2},
		"two colons":                    {"a: b\nc: d: e\nf: g\n", 2},
		"two colons in the first line":  {"c: d: e\nf: g\n", 1},
		"a quote that never ends":       {"a: \"b\n  c\"\nd: 'e\nf: g\nh: i\n", 3},
		"the same, in the first line":   {"a: \"b\nc: d\ne: f\n", 1},
		"a line without a colon":        {"a: b\nc\nd: e\n", 2},
		"a tab":                         {"a: b\nc:\n\td: e\n", 3},
		"an unknown anchor":             {"a: b\nc: *d\ne: f\n", 2},
		"in the third document":         {"a: b\n---\nc: d\n---\ne:\n  f: g\n h: i\n", 7},
		"text behind a document":        {"a: b\n...\nc: d\ne: f\n", 3},
		"windows":                       {"a:\r\n  b: c\r\n d: e\r\nf: g\r\n", 3},
		"without a newline at the end":  {"a:\n  b: c\n d: e", 3},
		"a directive":                   {"a: b\n%x\nc: d\n", 2},
		"an indicator that is reserved": {"a: b\nc: @d\n", 2},
		"brackets and then a key":       {"a: [b,\n  c,\n  d]\n e: f\n", 4},
		"a quote within brackets":       {"a: [b, \"c\n d\",\n  e}\n", 3},
		"a long text before it":         {"a: |\n" + strings.Repeat("  - ] } ' \" : x\n", 3000) + " b: c\n", 3002},
	} {
		if line := Line(test.text); line != test.line {
			words, said := fault(test.text)
			t.Errorf("%s: line %d, not %d (the library says line %d: %s)", name, line, test.line, said, words)
		}
	}
}

// Every line of a document of many forms is made a fault, in turn.
func TestFindsTheFaultOnEachLine(t *testing.T) {
	lines := strings.SplitAfter(`# a comment
a:
  b: c
  d:
  - e
  - f: g
    h: i
j: [k,
  l, {m: n}]
o: "p
  q"
r: |
  s
  t
u: {v: w, x: [y,
  z]}
`, "\n")
	lines = lines[:len(lines)-1]
	for at := range lines {
		text := strings.Join(lines[:at], "") + " }}]]: [" + lines[at] + strings.Join(lines[at+1:], "")
		line := Line(text)
		if inside := at == 10 || at == 12 || at == 13; inside {
			continue // of a text, where anything may stand
		}
		if line != at+1 && line != at+2 {
			words, said := fault(text)
			t.Errorf("line %d, not %d (the library says line %d: %s)\n%s", line, at+1, said, words, text)
		}
	}
}
