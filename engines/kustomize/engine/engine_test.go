package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"

// run gives the result's data. `options` is JSON without its braces.
func run(t *testing.T, tree *Tree, data, options string) resultData {
	t.Helper()
	document := `{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":` + data + `,"engine":{"name":"kustomize","options":{` + options + `}}}`
	var got result
	if err := json.Unmarshal(Generate(tree, []byte(document)), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "mistletoe.dev/v1" || got.Kind != "MistResult" {
		t.Errorf("the result is a %s %s", got.APIVersion, got.Kind)
	}
	return got.Data
}

func TestBuildsAnOverlayWhoseBaseLiesAboveIt(t *testing.T) {
	tree := treeWith(t, map[string]string{
		"base/kustomization.yaml":          "resources: [settings.yaml]\n",
		"base/settings.yaml":               configMap,
		"overlays/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-\n",
	})
	got := run(t, tree, `{"name":"shop"}`, `"root":"overlays/prod","print":true`)
	want := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: prod-settings\n"
	if got.Result != "Ok" || got.Files[outputFile] != want || got.Print == nil || *got.Print != want {
		t.Errorf("got %+v", got)
	}
	if got := run(t, tree, `{"name":"shop"}`, `"root":"overlays/prod"`); got.Print != nil {
		t.Error("prints unasked")
	}
}

func TestThePackageCarriesItsOptions(t *testing.T) {
	tree := treeWith(t, map[string]string{
		".mistletoe/kustomize.json": `{"root":"a"}`,
		"a/kustomization.yaml":      "configMapGenerator: [{name: in-a}]\n",
		"b/kustomization.yaml":      "configMapGenerator: [{name: in-b}]\n",
	})
	if got := run(t, tree, `{"name":"x"}`, `"print":true`); !strings.Contains(got.Files[outputFile], "in-a") || got.Print == nil {
		t.Errorf("got %+v", got)
	}
	if got := run(t, tree, `{"name":"x"}`, `"root":"b"`); !strings.Contains(got.Files[outputFile], "in-b") {
		t.Errorf("the run's options don't come first: %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, data, options string
		files               map[string]string
		message             string
		where               where
	}{
		{"values", `{"name":"x","replicas":3,"image":{"tag":"2"}}`, "",
			map[string]string{"kustomization.yaml": "namePrefix: a\n"},
			`takes no values, but got image, replicas.`, where{}},
		{"root outside", `{"name":"x"}`, `"root":"../x"`,
			map[string]string{"kustomization.yaml": "namePrefix: a\n"}, `"../x" is not inside of the package`, where{}},
		{"missing file", `{"name":"x"}`, `"root":"o"`,
			map[string]string{"o/kustomization.yaml": "namePrefix: a\nresources:\n- deployment.yaml\n"},
			`lstat o/deployment.yaml: no such file`, where{File: "o/kustomization.yaml", Line: 3}},
		{"bad YAML", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "resources:\n- s.yaml\n", "s.yaml": configMap + " bad: [\n"},
			`yaml: line 4`, where{File: "s.yaml", Line: 5}},
		{"bad YAML below a list", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "# text\nresources:\n- s.yaml\n - t.yaml\nnamePrefix: [\n"},
			`invalid Kustomization`, where{File: "kustomization.yaml", Line: 5}},
		{"bad YAML in another document", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "resources: [s.yaml]\n", "s.yaml": configMap + "---\n" + configMap + " bad: a\n"},
			`yaml: line 4`, where{File: "s.yaml", Line: 10}},
		{"something of a base", `{"name":"x"}`, `"root":"o"`,
			map[string]string{"o/kustomization.yaml": "resources: [../base]\n",
				"base/kustomization.yaml": "resources: [s.yaml]\nnamePrefix: base-\npatches: [{path: p.yaml}]\n",
				"base/s.yaml":             configMap, "base/p.yaml": strings.Replace(configMap, "settings", "none", 1)},
			`no matches for Id ConfigMap`, where{File: "base/kustomization.yaml"}},
		{"an entry of a base", `{"name":"x"}`, `"root":"o"`,
			map[string]string{"o/kustomization.yaml": "resources:\n- ../base\n",
				"base/kustomization.yaml": "namePrefix: base-\nresources:\n- s.yaml\n"},
			`lstat base/s.yaml: no such file`, where{File: "base/kustomization.yaml", Line: 3}},
		{"unknown field", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "namePrefix: a\nresource: [s.yaml]\n"},
			`unknown field "resource"`, where{File: "kustomization.yaml", Line: 2}},
		{"file outside of the base", `{"name":"x"}`, `"root":"o"`,
			map[string]string{"s.yaml": configMap, "o/kustomization.yaml": "resources:\n- ../s.yaml\n"},
			`security; file 's.yaml' is not in or below 'o'`, where{File: "o/kustomization.yaml", Line: 2}},
		{"chart without a place", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "helmCharts: [{name: c}]\n"},
			"no repo specified for pull, no chart found", where{File: "kustomization.yaml"}},
		{"chart in an OCI registry", `{"name":"x"}`, "",
			map[string]string{"kustomization.yaml": "helmCharts: [{name: c, repo: \"oci://r.example/a/\"}]\n"},
			"helm pull oci://r.example/a/c --untar", where{File: "kustomization.yaml"}},
		{"program", `{"name":"x"}`, "", map[string]string{
			"kustomization.yaml": "transformers: [t.yaml]\n",
			"t.yaml":             "apiVersion: a/v1\nkind: T\nmetadata: {name: t, annotations: {config.kubernetes.io/function: \"exec: {path: ./t}\"}}\n"},
			"do not run in the sandbox", where{File: "kustomization.yaml"}},
		{"nothing there", `{"name":"x"}`, `"root":"none"`, map[string]string{"kustomization.yaml": "namePrefix: a\n"},
			"lstat none: no such file", where{}},
	} {
		got := run(t, treeWith(t, test.files), test.data, test.options)
		if got.Result != "Err" || !strings.Contains(got.Message, test.message) || strings.Contains(got.Message, TreeMount) {
			t.Errorf("%s: got %+v", test.name, got)
		}
		var at where
		if got.Where != nil {
			at = *got.Where
			if at.Line > 0 {
				test.where.Text = strings.Split(test.files[at.File], "\n")[at.Line-1]
			}
		}
		if at != test.where {
			t.Errorf("%s: at %+v", test.name, at)
		}
	}
}

func TestSaysWhatIsMissingUntilNothingIs(t *testing.T) {
	files := map[string]string{"kustomization.yaml": "resources:\n" +
		"- https://github.com/org/repo//base?ref=v1\n- git@example.com:a/b.git\n- https://example.com/x/settings.yaml\n"}
	got := run(t, treeWith(t, files), `{"name":"x"}`, "")
	want := []missing{
		{Repo: "https://github.com/org/repo", Ref: "v1", Path: "base"},
		{Repo: "git@example.com:a/b.git"},
		{URL: "https://example.com/x/settings.yaml"},
	}
	if len(got.Missing) != 3 || got.Missing[0] != want[0] || got.Missing[1] != want[1] || got.Missing[2] != want[2] {
		t.Fatalf("got %+v", got)
	}
	// The first base needs another commit of the same repository; the file is none, but a repository.
	files[".mistletoe/remote/0/base/kustomization.yaml"] = "resources: [../settings, \"github.com/org/repo/base?ref=v2\"]\n"
	files[".mistletoe/remote/0/settings/kustomization.yaml"] = "resources: [s.yaml]\n"
	files[".mistletoe/remote/0/settings/s.yaml"] = configMap
	files[".mistletoe/remote/1/kustomization.yaml"] = "configMapGenerator: [{name: c, literals: [a=b]}]\n"
	options := `"remotes":[{"repo":"https://github.com/org/repo","ref":"v1","path":"base","at":".mistletoe/remote/0"},` +
		`{"repo":"git@example.com:a/b.git","at":".mistletoe/remote/1"},` +
		`{"url":"https://example.com/x/settings.yaml","absent":true}`
	got = run(t, treeWith(t, files), `{"name":"x"}`, options+`]`)
	want = []missing{
		{Repo: "https://github.com/org/repo", Ref: "v2", Path: "base"},
		{Repo: "https://example.com/x/settings.yaml"},
	}
	if len(got.Missing) != 2 || got.Missing[0] != want[0] || got.Missing[1] != want[1] {
		t.Fatalf("got %+v", got)
	}
	files[".mistletoe/remote/2/base/kustomization.yaml"] = "configMapGenerator: [{name: d, literals: [a=b]}]\n"
	files["files/settings.yaml"] = strings.Replace(configMap, "settings", "fetched", 1)
	options = strings.Replace(options, `"absent":true`, `"at":"files/settings.yaml"`, 1)
	options += `,{"repo":"https://github.com/org/repo","ref":"v2","path":"base","at":".mistletoe/remote/2"}]`
	got = run(t, treeWith(t, files), `{"name":"x"}`, options)
	if got.Result != "Ok" || got.Missing != nil || strings.Count(got.Files[outputFile], "kind: ConfigMap") != 4 {
		t.Fatalf("got %+v", got)
	}
	// What a fetched repository doesn't have is an error, not missing.
	delete(files, ".mistletoe/remote/0/settings/s.yaml")
	got = run(t, treeWith(t, files), `{"name":"x"}`, options)
	if got.Result != "Err" || !strings.Contains(got.Message, "https://github.com/org/repo/settings/s.yaml") {
		t.Fatalf("got %+v", got)
	}
}

func TestAsksForAFileUnlessOnlyARepositoryCanBeThere(t *testing.T) {
	lacks := func(url, options string) missing {
		t.Helper()
		got := run(t, treeWith(t, map[string]string{"kustomization.yaml": "resources:\n- " + url + "\n", "f.yaml": configMap}),
			`{"name":"x"}`, options)
		if len(got.Missing) == 0 && strings.Contains(got.Files[outputFile], "kind: ConfigMap") {
			return missing{}
		}
		if len(got.Missing) != 1 {
			t.Fatalf("%s: got %+v", url, got)
		}
		return got.Missing[0]
	}
	for _, file := range []string{
		"https://gitlab.com/api/v4/projects/123/repository/files/deploy.yaml/raw?ref=main",
		"https://gitea.example/api/v1/repos/o/r/raw/f.yaml?ref=main",
		"https://example.com/o/r/.github/f.yaml",
		"https://example.com/o/r.github.io/f.yaml",
		"https://example.com/o/my_git/f.yaml",
		"https://example.com/o/r//f.yaml",
		"https://git.example/o/r.git/plain/f.yaml?h=v1",
	} {
		if got := lacks(file, ""); got != (missing{URL: file}) {
			t.Errorf("%s: got %+v", file, got)
		}
		if got := lacks(file, `"remotes":[{"url":"`+file+`","at":"f.yaml"}]`); got != (missing{}) {
			t.Errorf("%s isn't used: %+v", file, got)
		}
	}
	base := "https://example.com/o/r/base?ref=v1"
	want := missing{Repo: "https://example.com/o/r", Ref: "v1", Path: "base"}
	if got := lacks(base, `"remotes":[{"url":"`+base+`","absent":true}]`); got != want {
		t.Errorf("got %+v", got)
	}
	for _, repository := range []string{
		"https://example.com/o/r//base?ref=v1",
		"https://example.com/o/r.git",
		"https://example.com/o/r.git//base",
		"https://example.com/o/r.git/base?version=v1",
		"https://dev.azure.com/o/p/_git/r/base",
	} {
		if got := lacks(repository, ""); got.Repo == "" {
			t.Errorf("%s: got %+v", repository, got)
		}
	}
}

func TestWhatStandsInForAMissingFileBreaksNothing(t *testing.T) {
	t.Cleanup(openapi.ResetOpenAPI)
	tree := treeWith(t, map[string]string{
		"kustomization.yaml": "resources: [s.yaml]\nopenapi: {path: https://example.com/schema.json}\n", "s.yaml": configMap,
	})
	if got := run(t, tree, `{"name":"x"}`, ""); len(got.Missing) != 1 || got.Missing[0].URL != "https://example.com/schema.json" {
		t.Errorf("got %+v", got)
	}
}

func TestAPackageCanReplaceTheSchemaThatPrepareRead(t *testing.T) {
	t.Cleanup(openapi.ResetOpenAPI)
	Prepare()
	files := map[string]string{
		"kustomization.yaml": "resources: [d.yaml]\npatches: [{path: p.yaml}]\n",
		"d.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, image: i}]}}}\n",
		"p.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, tty: true}]}}}\n",
		"schema.json":        `{"definitions":{}}`,
	}
	if got := run(t, treeWith(t, files), `{"name":"x"}`, ""); !strings.Contains(got.Files[outputFile], "image: i") {
		t.Errorf("a list with a merge key was not merged: %+v", got)
	}
	files["kustomization.yaml"] += "openapi: {path: schema.json}\n"
	if got := run(t, treeWith(t, files), `{"name":"x"}`, ""); got.Result != "Ok" || strings.Contains(got.Files[outputFile], "image: i") {
		t.Errorf("the package's schema knows no merge keys, so its patch replaces: %+v", got)
	}
}

func TestInspectBuildsNothing(t *testing.T) {
	tree := treeWith(t, map[string]string{"overlays/prod/kustomization.yaml": "resources: [../../gone]\n"})
	got := run(t, tree, `{"name":"shop"}`, `"root":"overlays/prod","inspect":true`)
	if got.Result != "Ok" || got.Package == nil || got.Package.Name != "prod" || got.Package.Inputs != nil {
		t.Errorf("got %+v", got)
	}
	if got := run(t, tree, `{"name":"shop"}`, `"inspect":true`); got.Package == nil || got.Package.Name != "" {
		t.Errorf("the name of who installs it became its own: %+v", got.Package)
	}
}
