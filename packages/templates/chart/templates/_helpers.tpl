{{/* The labels that find the Pods: a Deployment's selector can't change, so these stay as they are for ever. */}}
{{- define "my-package.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "my-package.labels" -}}
{{ include "my-package.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
