{{- define "common.name" -}}{{ (index . 0).Release.Name }}-{{ index . 1 }}{{- end -}}
