package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// fakeHost renders a chart into a ConfigMap that holds what was asked.
func fakeHost(t *testing.T) (asked *[]chartRequest) {
	t.Helper()
	asked = &[]chartRequest{}
	AskHost = func(text []byte) []byte {
		var request chartRequest
		if err := json.Unmarshal(text, &request); err != nil {
			t.Fatal(err)
		}
		*asked = append(*asked, request)
		if request.Directory == "charts/broken" {
			return []byte(`{"ok":{"failure":{"message":"it breaks","where":{"file":"charts/broken/templates/a.yaml","line":3,"column":7,"text":"  a: b"}}}}`)
		}
		if request.Directory == "charts/refused" {
			return []byte(`{"error":{"kind":"Invalid","message":"not here","hint":"but there"}}`)
		}
		answer, _ := json.Marshal(map[string]any{"ok": map[string]any{"print": fmt.Sprintf(
			"---\n# Source: c\n%s", strings.Replace(configMap, "settings", fmt.Sprint("settings-", len(*asked)), 1))}})
		return answer
	}
	t.Cleanup(func() { AskHost = nil })
	return asked
}

func packed(t *testing.T, files map[string]string) string {
	t.Helper()
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	archive := tar.NewWriter(zip)
	for name, content := range files {
		_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		_, _ = archive.Write([]byte(content))
	}
	_, _ = archive.Close(), zip.Close()
	return text.String()
}

func TestAsksTheHostForCharts(t *testing.T) {
	asked := fakeHost(t)
	tree := treeWith(t, map[string]string{
		"base/charts/web/Chart.yaml":  "name: web\n",
		"base/charts/web/values.yaml": "a: {b: 1, c: 2}\n",
		"base/more.yaml":              "d: 5\n",
		"base/kustomization.yaml": `
helmCharts:
- {name: web, releaseName: r, includeCRDs: true, valuesInline: {a: {b: 3}}, additionalValuesFiles: [more.yaml]}
- {name: web, nameTemplate: "n-{{ 1 }}", namespace: mine, skipHooks: true, skipTests: true, kubeVersion: 1.30.0, apiVersions: [a/v1]}
`,
		"top/kustomization.yaml": "resources: [../base]\nnamePrefix: p-\n",
	})
	got := run(t, tree, `{"name":"x"}`, `"root":"top"`)
	text := got.Files[outputFile]
	if got.Result != "Ok" || !strings.Contains(text, "name: p-settings-1") || !strings.Contains(text, "name: p-settings-2") {
		t.Fatalf("got %+v", got)
	}
	first, second := (*asked)[0], (*asked)[1]
	if first.Directory != "base/charts/web" || first.ReleaseName != "r" || !first.IncludeCRDs || first.Namespace != "" ||
		len(first.Values) != 2 || first.Values[0] != "a:\n  b: 3\n  c: 2\n" || first.Values[1] != "d: 5\n" {
		t.Errorf("asked for %+v", first)
	}
	if second.NameTemplate != "n-{{ 1 }}" || second.Namespace != "mine" || !second.NoHooks || !second.SkipTests ||
		second.KubeVersion != "1.30.0" || len(second.APIVersions) != 1 || second.Values[0] != "a: {b: 1, c: 2}\n" {
		t.Errorf("asked for %+v", second)
	}
}

func TestAChartThatFailsHasItsPlace(t *testing.T) {
	fakeHost(t)
	for name, want := range map[string]struct {
		message string
		at      where
	}{
		"broken":  {"it breaks", where{"charts/broken/templates/a.yaml", 3, 7, "  a: b"}},
		"refused": {"not here (but there)", where{File: "kustomization.yaml"}},
	} {
		got := run(t, treeWith(t, map[string]string{
			"charts/" + name + "/values.yaml": "{}\n",
			"kustomization.yaml":              "helmCharts: [{name: " + name + "}]\n",
		}), `{"name":"x"}`, "")
		if got.Result != "Err" || !strings.Contains(got.Message, want.message) || got.Where == nil || *got.Where != want.at {
			t.Errorf("%s: got %+v at %+v", name, got, got.Where)
		}
	}
}

func TestChartsOfRepositoriesAreMissingAtFirst(t *testing.T) {
	asked := fakeHost(t)
	files := map[string]string{"kustomization.yaml": `
helmCharts:
- {name: a, repo: https://charts.example, version: 1.2.x, valuesFile: charts/a-1.2.x/a/special.yaml}
- {name: b, repo: https://charts.example, devel: true}
`}
	got := run(t, treeWith(t, files), `{"name":"x"}`, "")
	want := []missing{
		{Repo: "https://charts.example", Chart: "a", Version: "1.2.x"}, {Repo: "https://charts.example", Chart: "b", Devel: true}}
	if len(got.Missing) != 2 || got.Missing[0] != want[0] || got.Missing[1] != want[1] || len(*asked) != 0 {
		t.Fatalf("got %+v, asked %+v", got, *asked)
	}
	files[".mistletoe/remote/0"] = packed(t, map[string]string{
		"a/Chart.yaml": "name: a\n", "a/values.yaml": "v: 1\n", "a/special.yaml": "v: 2\n"})
	files[".mistletoe/remote/1"] = packed(t, map[string]string{"dir/Chart.yaml": "name: b\n", "dir/values.yaml": "w: 1\n"})
	options := `"remotes":[{"repo":"https://charts.example","chart":"a","version":"1.2.x","at":".mistletoe/remote/0"},` +
		`{"repo":"https://charts.example","chart":"b","devel":true,"at":".mistletoe/remote/1"}]`
	got = run(t, treeWith(t, files), `{"name":"x"}`, options)
	if got.Result != "Ok" || len(got.Missing) != 0 || len(*asked) != 2 {
		t.Fatalf("got %+v", got)
	}
	if first := (*asked)[0]; first.Archive != ".mistletoe/remote/0" || first.Directory != "" || first.Values[0] != "v: 2\n" {
		t.Errorf("asked for %+v", first)
	}
	if second := (*asked)[1]; second.Archive != ".mistletoe/remote/1" || second.Values[0] != "w: 1\n" {
		t.Errorf("asked for %+v", second)
	}
}

func TestRefusesArchivesThatLeaveTheirPlace(t *testing.T) {
	fakeHost(t)
	for name, archive := range map[string]string{
		"../x":                 packed(t, map[string]string{"a/../../x": "", "a/Chart.yaml": "name: a\n"}),
		"is not allowed":       packed(t, map[string]string{"a/Chart.yaml": "name: ../b\n"}),
		"name not specified":   packed(t, map[string]string{"a/b": ""}),
		"gzip: invalid header": "no archive at all, though long enough for one",
	} {
		got := run(t, treeWith(t, map[string]string{
			"kustomization.yaml":  "helmCharts: [{name: a, repo: https://charts.example}]\n",
			".mistletoe/remote/0": archive,
		}), `{"name":"x"}`, `"remotes":[{"repo":"https://charts.example","chart":"a","at":".mistletoe/remote/0"}]`)
		if got.Result != "Err" || !strings.Contains(got.Message, name) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestTakesChartsThatWereRenderedBefore(t *testing.T) {
	asked := fakeHost(t)
	files := map[string]string{
		"charts/web/values.yaml": "{}\n", ".mistletoe/charts/0": configMap,
		"kustomization.yaml": "helmCharts: [{name: web, releaseName: r}]\n",
	}
	for release, times := range map[string]int{"r": 0, "other": 1} {
		*asked = nil
		options := `"charts":[{"at":".mistletoe/charts/0","request":{"op":"chart.render","directory":"charts/web","releaseName":"` +
			release + `","values":["{}\n"]}}]`
		if got := run(t, treeWith(t, files), `{"name":"x"}`, options); got.Result != "Ok" || len(*asked) != times {
			t.Errorf("%s: asked %d times, got %+v", release, len(*asked), got)
		}
	}
}
