package main

import (
	"slices"
	"strings"
	"testing"
)

// unknownOf renders a chart of those files with those values and gives what nobody reads, as "a.b".
func unknownOf(t *testing.T, files map[string]string, values map[string]any) []string {
	t.Helper()
	got := renderFiles(t, files, giving(values))
	if got.Result != "Ok" {
		t.Fatal(got.Message)
	}
	paths := []string{}
	for _, each := range got.Unknown {
		paths = append(paths, strings.Join(each.Path, "."))
	}
	return paths
}

type table = map[string]any

func giving(values table) func(*input) {
	return func(in *input) { in.values = values }
}

func TestOfValuesThatNobodyReads(t *testing.T) {
	const defaults = `
replicaCount: 1
image: {repository: nginx, tag: latest}
podAnnotations: {}
tolerations: []
password: null
service: {port: 80}
labels: {team: a}
ingress: {enabled: false, host: x}
text: '{{ .Values.fromText }}'
`
	const template = `
a: {{ .Values.replicaCount }}
b: {{ .Values.image.repository }}:{{ .Values.image.tag }}
c: {{ .Values.service.port }}
d: {{ toYaml .Values.labels | nindent 2 }}
{{- if .Values.ingress }}{{ if and .Values.ingress .Values.ingress.enabled }}
e: {{ .Values.ingress.host }}
{{- end }}{{ end }}
f: {{ if hasKey .Values "looked-up" }}{{ index .Values "looked-up" "deep" }}{{ end }}
g: {{ get .Values.service "name" }}
h: {{ $.Values.notInDefaults | default "x" }}
i: {{ hasKey .Values "asked" }}
{{- with .Values.context }}
j: {{ .inner }}
{{- end }}
k: {{ tpl "{{ .Values.inText }}" . }}
l: {{ include "helper" (dict "context" $) }}
`
	files := map[string]string{"values.yaml": defaults, "templates/x.yaml": template,
		"templates/_helper.tpl": `{{ define "helper" }}{{ .context.Values.fromHelper }}{{ end }}`}
	tests := map[string]struct {
		values table
		want   []string
	}{
		"misspelled":                   {table{"replicaCuont": 3}, []string{"replicaCuont"}},
		"misspelled below":             {table{"image": table{"tga": "1"}}, []string{"image.tga"}},
		"a whole mapping once":         {table{"imgae": table{"tag": 1, "x": 2}}, []string{"imgae"}},
		"below what is only asked for": {table{"ingress": table{"hots": "y"}}, []string{"ingress.hots"}},
		"at another place":             {table{"tag": "1"}, []string{"tag"}},
		"free to fill": {table{"podAnnotations": table{"a": "b"}, "tolerations": []any{table{"key": "x"}},
			"password": table{"any": 1}}, nil},
		"printed as a whole":    {table{"labels": table{"tier": "b"}}, nil},
		"read without defaults": {table{"notInDefaults": 1, "looked-up": table{"deep": 1}, "asked": 1}, nil},
		"got by name":           {table{"service": table{"name": "x"}}, nil},
		"given to with":         {table{"context": table{"inner": 1, "other": 2}}, nil},
		"by texts":              {table{"fromText": 1, "inText": 2}, nil},
		"by helpers":            {table{"fromHelper": 1}, nil},
		"by other values":       {table{"password": "{{ .Values.mine }}", "mine": 1}, nil},
		"removed":               {table{"nothing": nil}, nil},
		"global and anchors":    {table{"global": table{"x": 1}, "x-common": table{"a": 1}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := unknownOf(t, files, test.values); !slices.Equal(got, test.want) {
				t.Errorf("%v, not %v", got, test.want)
			}
		})
	}
	got := renderFiles(t, files, giving(table{"image": table{"tga": 1}})).Unknown
	if len(got) != 1 || !slices.Equal(got[0].Known, []string{"repository", "tag"}) {
		t.Errorf("known there: %v", got)
	}
	got = renderFiles(t, files, giving(table{"tag": 1})).Unknown
	if len(got) != 1 || !slices.Equal(got[0].Also, []string{"image.tag"}) {
		t.Errorf("known elsewhere: %v", got)
	}
}

func TestValuesOfSubchartsAreTheirs(t *testing.T) {
	files := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n" +
			"- {name: sub, version: 1.0.0, alias: db}\n- {name: extra, version: 1.0.0, condition: flags.extra}\n",
		"values.yaml":                 "db: {size: 1}\nflags: {extra: false}\n",
		"templates/x.yaml":            "a: {{ .Values.db.readByParent }}\n",
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.yaml":      "user: a\n",
		"charts/sub/templates/x.yaml": "b: {{ .Values.user }}{{ .Values.size }}{{ .Values.global.zone }}\n",
		"charts/extra/Chart.yaml":     "apiVersion: v2\nname: extra\nversion: 1.0.0\n",
	}
	tests := map[string]struct {
		values table
		want   []string
	}{
		"known":            {table{"db": table{"user": "b", "size": 2, "readByParent": 1}}, nil},
		"misspelled":       {table{"db": table{"usre": "b"}}, []string{"db.usre"}},
		"global":           {table{"global": table{"zone": 1}, "db": table{"global": table{"x": 1}}}, nil},
		"a disabled one":   {table{"extra": table{"any": 1}}, nil},
		"what disables":    {table{"flags": table{"other": true}, "tags": table{"x": true}}, nil},
		"without an alias": {table{"sub": table{"user": "b"}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := unknownOf(t, files, test.values); !slices.Equal(got, test.want) {
				t.Errorf("%v, not %v", got, test.want)
			}
		})
	}
}

func TestAChartThatTakesAllItsValuesKnowsAll(t *testing.T) {
	for name, text := range map[string]string{
		"printed": "{{ toYaml .Values }}", "a variable": "{{ $v := .Values }}a: {{ $v.x }}",
		"walked": "{{ range $k, $v := .Values }}{{ $k }}: 1\n{{ end }}",
		"set":    "{{ $_ := set .Values \"a\" 1 }}a: 1",
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"values.yaml": "a: 1\n", "templates/x.yaml": text}
			if got := unknownOf(t, files, table{"other": 1}); len(got) > 0 {
				t.Error(got)
			}
		})
	}
}

func TestValuesThatASchemaRefusesAreGivenWithIt(t *testing.T) {
	files := map[string]string{
		"values.schema.json":            `{"properties": {"a": {"type": "integer"}}}`,
		"templates/x.yaml":              "a: 1\n",
		"charts/sub/Chart.yaml":         "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.schema.json": `{"properties": {"b": {"type": "integer"}}}`,
	}
	got := renderFiles(t, files, giving(table{"a": 1, "sub": table{"b": "x"}}))
	if got.Result != "Err" || len(got.Refused) != 1 || !slices.Equal(got.Refused[0].Above, []string{"sub"}) ||
		got.Refused[0].Values["b"] != "x" {
		t.Errorf("%+v", got)
	}
	if got := renderFiles(t, files, giving(table{"a": "x", "sub": table{"b": "x"}})); len(got.Refused) != 2 {
		t.Errorf("%+v", got.Refused)
	}
}
