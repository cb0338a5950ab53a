package main

import (
	"reflect"
	"slices"
	"testing"
)

func TestACopyIsWhatSprigCopies(t *testing.T) {
	type own struct{ A []int }
	for _, value := range []any{
		1, "a", 1.5, true, int64(3), uint8(2), []any{}, []any(nil), map[string]any{}, map[string]any(nil), own{[]int{1}},
		map[string]any{"a": nil, "b": []any{1, nil, "x", map[string]any{"c": false}}, "d": []string{"e"}},
		map[string]any{"a": map[string]any(nil), "b": []any(nil), "c": own{nil}}, []string{"a"}, map[string]string{"a": "b"},
	} {
		want, wantErr := sprigMustDeepCopy(value)
		got, err := mustDeepCopy(value)
		if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%#v: %#v %v, not %#v %v", value, got, err, want, wantErr)
		}
	}
	original := map[string]any{"list": []any{map[string]any{"a": 1}}}
	copied := deepCopy(original).(map[string]any)
	copied["list"].([]any)[0].(map[string]any)["a"] = 2
	if original["list"].([]any)[0].(map[string]any)["a"] != 1 {
		t.Error("the copy and the original share a table")
	}
}

func TestKeysAndValuesComeInTheOrderOfTheKeys(t *testing.T) {
	dict := map[string]any{"b": 2, "c": 3, "a": 1}
	if got := sortedKeys(dict, map[string]any{"z": 0, "a": 0}); !slices.Equal(got, []string{"a", "b", "c", "a", "z"}) {
		t.Error(got)
	}
	if got := sortedValues(dict); !reflect.DeepEqual(got, []any{1, 2, 3}) {
		t.Error(got)
	}
}

func TestWhatIsDrawnChangesFromCallToCall(t *testing.T) {
	draw := func() string {
		got := renderFiles(t, map[string]string{
			"templates/x.yaml": `a: {{ shuffle "abcdefghijklmnopqrstuvwxyz" }}{{ randInt 0 1000000000 }}`}, nil)
		return got.Files["shop/templates/x.yaml"]
	}
	if first := draw(); first == "" || first == draw() {
		t.Error(first)
	}
}
