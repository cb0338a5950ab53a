package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const metadata = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

// noChart is no file: what there is has no Chart.yaml.
const noChart = "no chart"

// renderFiles renders a chart of these files; Chart.yaml is given if it isn't there.
func renderFiles(t *testing.T, files map[string]string, change func(*input)) result {
	t.Helper()
	directory := t.TempDir()
	t.Setenv("MIST_PACKAGE", directory)
	if _, none := files[noChart]; none {
		delete(files, noChart)
	} else if _, given := files["Chart.yaml"]; !given {
		files["Chart.yaml"] = metadata
	}
	for name, text := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := &input{values: map[string]any{}, Release: releaseInfo{Name: "r", Namespace: "default", Revision: 1}}
	in.Engine.Options = options{Print: true, Lookup: "empty", Random: "native"}
	if change != nil {
		change(in)
	}
	return render(in)
}

func TestErrorsNameTheirPlaceInThePackage(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  *where
	}{
		"a nil pointer": {map[string]string{"templates/x.yaml": "a: b\nc: {{ .Values.a.b.c }}\n"},
			&where{"templates/x.yaml", 2, 14, ""}},
		"in an included template": {map[string]string{
			"templates/x.yaml":    "a: {{ include \"h\" . }}",
			"templates/_h.tpl":    "{{ define \"h\" }}\n\n  {{ .Values.a.b }}{{ end }}",
			"templates/other.tpl": ""}, &where{"templates/_h.tpl", 3, 13, ""}},
		"what a template asks for": {map[string]string{"templates/x.yaml": "\n{{ required \"give a\" .Values.a }}"},
			&where{"templates/x.yaml", 2, 4, ""}},
		"a template that can't be parsed": {map[string]string{"templates/x.yaml": "\n\n{{ if }}"},
			&where{"templates/x.yaml", 3, 0, ""}},
		"in an aliased subchart": {map[string]string{
			"Chart.yaml":                  metadata + "dependencies: [{name: sub, version: 1.x.x, alias: other}]\n",
			"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.2.0\n",
			"charts/sub/templates/y.yaml": "{{ fail \"no\" }}"}, &where{"charts/sub/templates/y.yaml", 1, 4, ""}},
		"output that is no YAML": {map[string]string{
			"templates/x.yaml": "a: b\n---\n{{- range until 5 }}\nx{{ . }}: y\n{{- end }}\nkind:\n  {{- \"a: b: c\" | nindent 2 }}\n"},
			&where{"templates/x.yaml", 7, 0, ""}},
		"output whose types are wrong": {map[string]string{"templates/x.yaml": "kind: {a: b}\n"},
			&where{"templates/x.yaml", 1, 0, ""}},
		"output with a key between two levels": {map[string]string{
			"templates/x.yaml": "# {{ .Release.Name }}\na: b\n---\na:\n  b: c\n  d: e\n f: {{ .Release.Name }}\ng: h\n"},
			&where{"templates/x.yaml", 7, 0, ""}},
		"values that are no YAML": {map[string]string{"values.yaml": "a: 1\nb: [\nc: 2\n"}, &where{"values.yaml", 2, 0, ""}},
		"values with a key between two levels": {map[string]string{"values.yaml": "# text\na:\n  b: c\n d: e\n"},
			&where{"values.yaml", 4, 0, ""}},
		"metadata that is no YAML": {map[string]string{"Chart.yaml": "a: b\nname: : x\n"}, &where{"Chart.yaml", 2, 0, ""}},
		"values of a subchart": {map[string]string{
			"charts/sub/Chart.yaml":  "apiVersion: v2\nname: sub\nversion: 1.2.0\n",
			"charts/sub/values.yaml": "a: 1\nb: c: d\n"}, &where{"charts/sub/values.yaml", 2, 0, ""}},
		"a default value that the schema refuses": {map[string]string{
			"values.yaml":        "a: 1\nb:\n  - c\n  - d: e\n",
			"values.schema.json": `{"properties": {"b": {"items": {"type": "string"}}}}`}, &where{"values.yaml", 4, 0, ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := renderFiles(t, test.files, nil)
			test.want.Text = strings.Split(test.files[test.want.File], "\n")[test.want.Line-1]
			if got.Result != "Err" || !reflect.DeepEqual(got.Where, test.want) {
				t.Errorf("%s at %+v, not at %+v: %s", got.Result, got.Where, test.want, got.Message)
			}
		})
	}
}

// packed is a chart of these files as `helm package` makes it, in that directory of the archive.
func packed(t *testing.T, directory string, files map[string]string) string {
	t.Helper()
	var text strings.Builder
	zipped := gzip.NewWriter(&text)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		header := &tar.Header{Name: directory + "/" + name, Mode: 0o644, Size: int64(len(content))}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestErrorsInPackedChartsNameTheirPlaceAndLine(t *testing.T) {
	deep := func(change string) string {
		files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: deep\nversion: 0.1.0\n", "values.yaml": "a: 1\n",
			"templates/y.yaml": "a: b\nc: {{ .Values.a.b }}\n"}
		if change != "" {
			files["values.yaml"] = change
		}
		return packed(t, "deep", files)
	}
	sub := func(deep string) string {
		return packed(t, "sub", map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.2.0\n", "charts/deep-0.1.0.tgz": deep})
	}
	tests := map[string]struct {
		files map[string]string
		want  where
	}{
		"a chart": {map[string]string{"shop-1.0.0.tgz": packed(t, "shop", map[string]string{
			"Chart.yaml": metadata, "templates/x.yaml": "a: b\nc: {{ .Values.a.b.c }}\n"})},
			where{"templates/x.yaml", 2, 14, "c: {{ .Values.a.b.c }}"}},
		"values of a chart": {map[string]string{"shop-1.0.0.tgz": packed(t, "shop", map[string]string{
			"Chart.yaml": metadata, "values.yaml": "a:\n  b: c\n d: e\n"})}, where{"values.yaml", 3, 0, " d: e"}},
		"a subchart of a subchart": {map[string]string{"charts/sub-1.2.0.tgz": sub(deep(""))},
			where{"charts/sub-1.2.0.tgz/charts/deep-0.1.0.tgz/templates/y.yaml", 2, 14, "c: {{ .Values.a.b }}"}},
		"a subchart under another name": {map[string]string{"charts/other.tgz": deep("")},
			where{"charts/other.tgz/templates/y.yaml", 2, 14, "c: {{ .Values.a.b }}"}},
		"values of a subchart of a subchart": {map[string]string{"charts/sub-1.2.0.tgz": sub(deep("a: b: c\n"))},
			where{"charts/sub-1.2.0.tgz/charts/deep-0.1.0.tgz/values.yaml", 1, 0, "a: b: c"}},
		"a packed one in a directory": {map[string]string{
			"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.2.0\n", "charts/sub/charts/d.tgz": deep("")},
			where{"charts/sub/charts/d.tgz/templates/y.yaml", 2, 14, "c: {{ .Values.a.b }}"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, whole := test.files["shop-1.0.0.tgz"]; whole {
				test.files[noChart] = ""
			}
			got := renderFiles(t, test.files, nil)
			if got.Result != "Err" || got.Where == nil || *got.Where != test.want {
				t.Errorf("%s at %+v, not at %+v: %s", got.Result, got.Where, test.want, got.Message)
			}
		})
	}
}

func TestWhatWasPreparedKnowsItsLines(t *testing.T) {
	files := map[string]string{"templates/x.yaml": "a: b\nc: {{ fail \"no\" }}\n"}
	defer func() { baked = nil }()
	got := renderFiles(t, files, func(*input) {
		baked = bake(root())
		if err := os.RemoveAll(root()); err != nil {
			t.Fatal(err)
		}
	})
	if want := (where{"templates/x.yaml", 2, 7, "c: {{ fail \"no\" }}"}); got.Where == nil || *got.Where != want {
		t.Errorf("at %+v: %s", got.Where, got.Message)
	}
}

func TestAValueThatTheUserGaveHasNoPlaceInThePackage(t *testing.T) {
	files := map[string]string{
		"values.yaml":        "a: x\n",
		"values.schema.json": `{"properties": {"a": {"type": "string"}}}`,
	}
	got := renderFiles(t, files, func(in *input) { in.values["a"] = int64(1) })
	if got.Result != "Err" || got.Where != nil {
		t.Errorf("%s at %+v: %s", got.Result, got.Where, got.Message)
	}
}

func TestErrorsDontNameTheDirectory(t *testing.T) {
	got := renderFiles(t, map[string]string{"Chart.yaml": "name: [\n"}, nil)
	if strings.Contains(got.Message, os.Getenv("MIST_PACKAGE")) {
		t.Error(got.Message)
	}
}

func TestFilesMeanToAYAMLReaderWhatTheyMeanToHelm(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"as it is":           {"a: b\n--- # comment\nc: d\n", "a: b\n--- # comment\nc: d\n"},
		"a glued separator":  {"a: b\n---c: d\n", "a: b\n\n---\nc: d\n"},
		"an unknown hook":    {"a: b\n---\nmetadata: {annotations: {helm.sh/hook: crd-install}}\n", "a: b\n"},
		"nothing but such":   {"metadata: {annotations: {helm.sh/hook: crd-install}}\n", ""},
		"a known hook stays": {"metadata: {annotations: {helm.sh/hook: pre-install}}\n", "metadata: {annotations: {helm.sh/hook: pre-install}}\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := renderFiles(t, map[string]string{"templates/x.yaml": test.text}, nil)
			if got.Result != "Ok" || got.Files["shop/templates/x.yaml"] != test.want {
				t.Errorf("%s %q, not %q", got.Result+got.Message, got.Files["shop/templates/x.yaml"], test.want)
			}
		})
	}
}

func TestWithoutPrintingOnlyTheWantedFilesComeBack(t *testing.T) {
	files := map[string]string{
		"templates/a.yaml": "a: {{ .Values.n }}", "templates/b.yaml": "b: 1", "templates/_c.yaml": "c", "crds/d.yaml": "d: 1",
		"templates/NOTES.txt": "notes", "templates/empty.yaml": "{{- /* nothing */ -}}\n"}
	all := renderFiles(t, files, func(in *input) { in.values["n"] = int64(3); in.Engine.Options.Print = false })
	want := map[string]string{"shop/templates/a.yaml": "a: 3", "shop/templates/b.yaml": "b: 1", "shop/crds/d.yaml": "d: 1"}
	if !reflect.DeepEqual(all.Files, want) || all.Message != "notes" || all.Print != nil {
		t.Errorf("%+v", all)
	}
	some := renderFiles(t, files, func(in *input) { in.Engine.Options.ShowOnly = []string{"templates/b*"} })
	if !reflect.DeepEqual(some.Files, map[string]string{"shop/templates/b.yaml": "b: 1"}) {
		t.Errorf("%+v", some.Files)
	}
}

func TestAnInputsNumbersKeepTheirKind(t *testing.T) {
	object, err := decodeObject([]byte(`{"a": 1, "b": 1.0, "c": [1e3, {"d": 12345678901234567890}]}`))
	want := map[string]any{"a": int64(1), "b": 1.0, "c": []any{1000.0, map[string]any{"d": 12345678901234567890.0}}}
	if err != nil || !reflect.DeepEqual(object, want) {
		t.Errorf("%#v %v", object, err)
	}
}

func TestInputsAreTheSchemaOrWhatValuesTell(t *testing.T) {
	t.Setenv("MIST_PACKAGE", t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("Chart.yaml", metadata+"maintainers: [{name: Ada, email: ada@example.com}]\n")
	write("values.yaml", "# -- How many\n# pods\nreplicas: 3\nimage: {tag: x}\n")
	info := inspect(&input{}).Package
	want := `{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"image":{"properties":{"tag":` +
		`{"default":"x","type":"string"}},"type":"object"},"replicas":{"default":3,"description":"How many pods",` +
		`"type":"integer"}},"type":"object"}`
	if string(info.Inputs) != want || info.Maintainers[0] != "Ada <ada@example.com>" {
		t.Errorf("%s %v", info.Inputs, info.Maintainers)
	}
	write("values.schema.json", `{"type": "object"}`)
	if got := inspect(&input{}).Package.Inputs; string(got) != `{"type": "object"}` {
		t.Errorf("%s", got)
	}
}
