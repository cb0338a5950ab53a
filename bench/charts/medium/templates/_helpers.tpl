{{- define "medium.name" -}}
{{- printf "%s-%s" (index . 0).Release.Name (index . 1) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "medium.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end -}}

{{- define "medium.labels" -}}
{{ include "medium.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "medium.connections" -}}
{{- range $name, $connection := .Values.connections }}
- name: {{ $name | upper }}_ADDRESS
  value: {{ printf "%s-%s:%v" $.Release.Name $name (index $.Values $name).port | quote }}
- name: {{ $name | upper }}_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $.Release.Name }}-{{ $name }}, key: {{ $connection.key }}}
{{- end }}
{{- end -}}
