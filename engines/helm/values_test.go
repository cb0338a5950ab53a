package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Charts of charts take mappings only; Helm's words for anything else are Go's.
func TestWhatIsGivenInPlaceOfASubchartsValuesIsRefusedByItsPath(t *testing.T) {
	chartFile := func(name string, more ...string) string {
		return fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 1.0.0\n%s", name, strings.Join(more, ""))
	}
	files := func() map[string]string {
		return map[string]string{
			"Chart.yaml":                         chartFile("top", "dependencies: [{name: real, alias: sub, version: 1.0.0}]\n"),
			"charts/real/Chart.yaml":             chartFile("real"),
			"charts/real/charts/deep/Chart.yaml": chartFile("deep"),
			"charts/real/values.yaml":            "x: 1\n",
		}
	}
	for _, each := range []struct {
		values table
		wanted string
	}{
		{table{"sub": "abc"}, "[] sub"},
		{table{"sub": []any{1}}, "[] sub"},
		{table{"sub": table{"deep": true}}, "[sub] deep"},
	} {
		got := renderFiles(t, files(), giving(each.values))
		if got.Result != "Err" || len(got.Refused) != 1 {
			t.Errorf("%v: %s %s %v", each.values, got.Result, got.Message, got.Refused)
			continue
		}
		refused := got.Refused[0]
		names := []string{}
		for name := range refused.Values {
			names = append(names, name)
		}
		if place := fmt.Sprintf("%v %s", refused.Above, strings.Join(names, " ")); place != each.wanted || !refused.Fixed {
			t.Errorf("%v: refused at %q, fixed %v", each.values, place, refused.Fixed)
		}
		if !json.Valid(refused.Schema) {
			t.Errorf("%v: %s is no JSON", each.values, refused.Schema)
		}
	}
	// Of a chart whose own defaults are wrong the user gave nothing that could be refused.
	wrong := files()
	wrong["values.yaml"] = "sub: abc\n"
	if got := renderFiles(t, wrong, giving(table{})); got.Result != "Err" || len(got.Refused) != 0 {
		t.Errorf("%s, refused %v", got.Result, got.Refused)
	}
	if got := renderFiles(t, files(), giving(table{"sub": table{"x": 2}})); got.Result != "Ok" {
		t.Error(got.Message)
	}
}
