package util

import (
	"math/rand"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestAHeadIsReadAsTheWayOverJSONReadsIt(t *testing.T) {
	for _, text := range []string{
		"", "null", "a", "[1]", "kind: A\napiVersion: v1\nmetadata: {name: n, annotations: {a: b}}\nspec: {x: [1, {y: z}]}",
		"kind: 1", "kind: null", "kind: {a: b}", "Kind: A", "KIND: A\nkind: B", "apiversion: v2", "metadata: null", "metadata: []",
		"metadata: {}", "metadata: {name: 5}", "metadata: {Name: n}", "metadata: {annotations: null}", "metadata: {annotations: {}}",
		"metadata: {annotations: {a: 1, b: true, c: 1.5}}", "metadata: {annotations: {1: a}}", "metadata: {annotations: {a: {b: c}}}",
		"metadata: {annotations: {a: null}}", "kind: A\nspec: {x: .inf}", "kind: A\nspec: {[a]: b}", "kind: A\nspec: {~: b}",
		"kind: A\nspec: {1.5: b}", "kind: [", "kind: A\nkind: B", "kind: y", "metadata: {labels: {a: 1}, annotations: {a: x}}",
	} {
		var got, want SimpleHead
		err, wantErr := readHead(text, &got), yaml.Unmarshal([]byte(text), &want)
		sameError := (err == nil) == (wantErr == nil) && (err == nil || err.Error() == wantErr.Error())
		if !sameError || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %v, not %+v %v", text, got, err, want, wantErr)
		}
	}
}

func TestDocumentsAreSplitAsTheExpressionSplitsThem(t *testing.T) {
	separator := regexp.MustCompile(`(?m)^---[ \t]*`)
	draw, parts := rand.New(rand.NewSource(1)), []string{"---", "-", "\n", "\r\n", " ", "\t", "a: b", "--- ", "é"}
	for range 20000 {
		text := ""
		for range draw.Intn(10) {
			text += parts[draw.Intn(len(parts))]
		}
		if got, want := splitDocuments(text), separator.Split(text, -1); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestKindsAreOrderedAsInAMap(t *testing.T) {
	for i, kind := range InstallOrder {
		if i > 0 && !lessByKind(nil, nil, InstallOrder[i-1], kind, InstallOrder) {
			t.Errorf("%s isn't after %s", kind, InstallOrder[i-1])
		}
		if !lessByKind(nil, nil, kind, "Unknown", InstallOrder) || lessByKind(nil, nil, kind, kind, InstallOrder) {
			t.Errorf("%s isn't before an unknown kind, or before itself", kind)
		}
	}
	if !lessByKind(nil, nil, "Another", "Unknown", InstallOrder) {
		t.Error("unknown kinds aren't in the order of their names")
	}
}
