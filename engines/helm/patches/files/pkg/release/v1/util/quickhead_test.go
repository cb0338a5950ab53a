package util

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// As charts write them: each of these must go the quick way.
var quickDocuments = []string{
	"# Source: a/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app.kubernetes.io/name: a\n" +
		"    helm.sh/chart: \"a-1.0\"\n  annotations:\n    helm.sh/hook: pre-install,post-upgrade\n    \"helm.sh/hook-weight\": '-5'\n" +
		"data:\n  a: |\n    one:\n      # two\n\n    \tthree\n  b: >-\n    x\n\n\n  c: \"\"\n  d: 5\n  e: -1.5\n  f: 2001-01-01\n",
	"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: 'a'\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n" +
		"        - name: a\n          image: \"a/b:1\"\n          args:\n          - --x=y\n          - -v\n          - \"--z: 1\"\n          - a\n" +
		"          env:\n            -   name: B\n                value: é ✓ 🙂\n          resources: {}\n          ports: []\n      volumes:\n      - emptyDir: {}\n        name: v\n" +
		"      ports: [{name: http, port: 80}, {\"name\":\"b\", 'x': [1, -2, --z, -a=/b, {a: {b: c}}]}]\n      y1: {maxSurge: 25%, a: \"b: c\"}\n",
	"kind: A\n\n\n  # further in\nspec:\n  x:\n  z:\n  - - a\n    - b\n  - |\n   text\n",
	"  apiVersion: v1\n  kind: Service\n  metadata:\n    annotations: {}\n  spec:\n    a: $(B)\n",
}

func TestUsualDocumentsGoTheQuickWay(t *testing.T) {
	for _, text := range quickDocuments {
		var got, want SimpleHead
		if !quickHead(text, &got) {
			t.Errorf("%q takes the long way", text)
		}
		if err := yaml.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, not %+v %v", text, got, want, err)
		}
	}
}

// agree fails if the quick way takes what the other refuses, or finds another head in it.
func agree(t *testing.T, text string) (quick bool) {
	var got, want SimpleHead
	if !quickHead(text, &got) {
		return false
	}
	if err := yaml.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %+v, not %+v %v", text, got, want, err)
	}
	return true
}

func TestTheQuickWayIsNeverWrong(t *testing.T) {
	draw := rand.New(rand.NewSource(1))
	parts := []string{" ", "  ", "\n", "\n  ", "\n- ", ":", ": ", "\"", "'", "#", " #", "|", "|-\n", ">", "{}", "[]", "{", "[", "}", "]", ",", ", ", "{a: b}", "[a]", "-", "- ", "---", "...", "\t",
		"\r", "é", "\u0085", "\u2028", "\ufeff", "\xff", "\x00", "null", "~", "yes", "1", ".inf", "kind: A\n", "name: ", "metadata:\n", "annotations:\n",
		"&a ", "*a", "!x ", "? ", "<<: ", "a", "a: b\n", "A: ", "Kind: ", "%", "@", "\\", "a:\n", "  a: 1\n"}
	took := 0
	for range 200000 {
		text := quickDocuments[draw.Intn(len(quickDocuments))]
		lines := strings.SplitAfter(text, "\n")
		from := max(0, draw.Intn(2*len(lines))-len(lines))
		text = strings.Join(lines[from:min(len(lines), from+1+draw.Intn(12))], "")
		for range 1 + draw.Intn(3) {
			at := draw.Intn(len(text) + 1)
			switch draw.Intn(3) {
			case 0:
				text = text[:at] + parts[draw.Intn(len(parts))] + text[at:]
			case 1:
				text = text[:at] + text[min(len(text), at+1+draw.Intn(3)):]
			default:
				line := lines[draw.Intn(len(lines))]
				text = text[:at] + strings.Repeat(" ", draw.Intn(4)) + line + text[at:]
			}
		}
		if agree(t, text) {
			took++
		}
	}
	if took < 20000 {
		t.Errorf("only %d of the drawn documents went the quick way: nothing was tested", took)
	}
}

func FuzzQuickHead(f *testing.F) {
	for _, text := range quickDocuments {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}
