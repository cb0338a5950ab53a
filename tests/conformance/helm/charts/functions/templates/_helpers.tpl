{{- define "functions.label" -}}
{{ .name }}-{{ .root.Release.Name }}
{{- end -}}
{{ define "functions.plain" }}plain {{ .Template.Name }}{{ end }}
{{ block "functions.block" . }}a block in a partial{{ end }}
