package main

import (
	"fmt"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
)

// A small chart that uses what most charts use, so that a snapshot holds the tables which libraries build at their
// first use.
var warmUpFiles = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: warm-up\nversion: 1.0.0\n",
	"values.yaml": "replicas: 1.5\nlabels: {a: b, c: [1, true, null]}\ntext: |\n  some text\n  more\nempty: {}\n",
	"values.schema.json": `{"$schema":"https://json-schema.org/draft-07/schema#","type":"object",
		"properties":{"replicas":{"type":"number","minimum":0},"text":{"type":"string","pattern":"^so"}}}`,
	"templates/_helpers.tpl": `{{- define "name" -}}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}`,
	"templates/a.yaml": `{{- if and .Values.replicas (not .Values.missing) (semverCompare ">=1.20-0" .Capabilities.KubeVersion.Version) -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "name" . }}
  labels: {{- include "labels" . | nindent 4 }}
  annotations:
    checksum: {{ .Values | toJson | sha256sum | b64enc }}
    helm.sh/hook: pre-install
data:
  {{- range $key, $value := .Values.labels }}
  {{ $key | snakecase }}: {{ $value | toString | regexReplaceAll "[a-z]+" "x" | default "y" | quote }}
  {{- end }}
  list: {{ list 1 "a" (dict "k" 1.25) (tpl "{{ .Values.text | upper }}" .) | toJson }}
  again: {{ "{a: [1, 2]}" | fromYaml | merge (dict "b" 2) | toYaml | indent 2 | trim | squote }}
  drawn: {{ randAlphaNum 8 }}
  when: {{ now | date "2006-01-02" }}
{{- end }}`,
	"templates/NOTES.txt": "{{ .Release.Name }} in {{ .Release.Namespace }}",
}

func warmUp() {
	files := make([]*archive.BufferedFile, 0, len(warmUpFiles))
	for _, name := range sortedNames(warmUpFiles) {
		files = append(files, &archive.BufferedFile{Name: name, Data: []byte(warmUpFiles[name])})
	}
	c, err := chartloader.LoadFiles(files)
	if err == nil {
		err = rehearse(c)
	}
	if err != nil {
		panic(fmt.Sprintf("the chart that warms the engine up: %v", err))
	}
}

// rehearse renders a chart with its own values, without a host and without anybody who sees it.
func rehearse(c *chart.Chart) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	r := rendering{chart: c, in: &input{values: map[string]any{}}}
	r.in.Release = releaseInfo{Name: "rehearsal", Namespace: "default", Revision: 1}
	r.in.Engine.Options = options{Print: true, Lookup: "empty", Random: "native"}
	if r.caps, err = capabilitiesOf(r.in); err != nil {
		return err
	}
	return r.runWithChart()
}
