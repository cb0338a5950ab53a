package main

import (
	"slices"
	"strings"
	"testing"
)

func crd(name, field string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name +
		"}\nspec:\n  group: " + field + "\n"
}

// crdFilesOf renders a chart with the subcharts b and a, in this order, and gives the names of its CRD files.
func crdFilesOf(t *testing.T, files map[string]string) (result, []string) {
	t.Helper()
	files["Chart.yaml"] = "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n" +
		"- {name: b, version: 1.0.0}\n- {name: a, version: 1.0.0}\n"
	for _, name := range []string{"a", "b"} {
		files["charts/"+name+"/Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
	}
	got := renderFiles(t, files, nil)
	if got.Result != "Ok" {
		t.Fatal(got.Message)
	}
	return got, sortedNames(got.Files)
}

func TestTheFirstCRDOfANameCounts(t *testing.T) {
	same := crd("x.example.com", "example.com")
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"the chart's own before a subchart's": {
			map[string]string{"crds/z.yaml": same, "charts/a/crds/x.yaml": same}, []string{"shop/crds/z.yaml"}},
		"subcharts in the order of Chart.yaml": {
			map[string]string{"charts/a/crds/x.yaml": crd("x.example.com", "other"), "charts/b/crds/x.yaml": same},
			[]string{"shop/charts/b/crds/x.yaml"}},
		"two names": {
			map[string]string{"charts/a/crds/x.yaml": same, "charts/b/crds/x.yaml": crd("y.example.com", "example.com")},
			[]string{"shop/charts/a/crds/x.yaml", "shop/charts/b/crds/x.yaml"}},
		"two files of one chart": {
			map[string]string{"crds/a.yaml": "# Generated.\n---\n" + same, "crds/b.yaml": same}, []string{"shop/crds/a.yaml"}},
		"what is no CRD": {
			map[string]string{"crds/a.yaml": "kind: A\nmetadata: {name: a}\n", "crds/b.yaml": "kind: A\nmetadata: {name: a}\n"},
			[]string{"shop/crds/a.yaml", "shop/crds/b.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := crdFilesOf(t, test.files); !slices.Equal(got, test.want) {
				t.Errorf("%v, not %v", got, test.want)
			}
		})
	}
}

// `helm template --include-crds` prints all of them.
func TestHelmsOutputHasEachFileOfCRDs(t *testing.T) {
	same := crd("x.example.com", "example.com")
	got := renderFiles(t, map[string]string{"crds/a.yaml": same, "crds/b.yaml": same},
		func(in *input) { in.Engine.Options.IncludeCRDs = true })
	if got.Print == nil || strings.Count(*got.Print, "# Source: shop/crds/") != 2 {
		t.Error(got)
	}
}

func TestTheOtherCRDsOfAFileKeepTheirLines(t *testing.T) {
	x, y := crd("x.example.com", "example.com"), crd("y.example.com", "example.com")
	got, _ := crdFilesOf(t, map[string]string{"charts/b/crds/x.yaml": x, "charts/a/crds/all.yaml": x + "---\n" + y})
	if want := strings.Repeat("\n", strings.Count(x, "\n")) + "---\n" + y; got.Files["shop/charts/a/crds/all.yaml"] != want {
		t.Errorf("%q", got.Files["shop/charts/a/crds/all.yaml"])
	}
}

func TestContentIsComparedAndNotItsForm(t *testing.T) {
	x := crd("x.example.com", "example.com")
	for other, want := range map[string]bool{
		x: true, "---\n" + x: true, "# a comment\n" + strings.ReplaceAll(x, "  group", "    group"): true,
		crd("x.example.com", "other"): false,
	} {
		if got := sameContent(x, other); got != want {
			t.Errorf("%t for %q", got, other)
		}
	}
}
