{{- define "failures.outer" -}}
outer
{{ include "failures.inner" . }}
{{- end -}}
{{- define "failures.inner" -}}
  {{ .Values.deep.er.est }}
{{- end -}}
{{- define "failures.required" -}}
{{ required "needed inside" .Values.tag }}
{{- end -}}
{{- define "failures.recursion" -}}
{{ include "failures.recursion" . }}
{{- end -}}
