{{/* toolkit.name: of a component of the release. Takes a list: root context, component. */}}
{{- define "toolkit.name" -}}
{{- printf "%s-%s" (index . 0).Release.Name (index . 1) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "toolkit.selector" -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end -}}

{{- define "toolkit.labels" -}}
{{- $root := index . 0 -}}
{{ include "toolkit.selector" . }}
app.kubernetes.io/part-of: {{ $root.Chart.Name }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | quote }}
{{- with $root.Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
{{- with $root.Values.global.team }}
example.com/team: {{ . | quote }}
{{- end }}
example.com/environment: {{ $root.Values.global.environment | default "development" | quote }}
{{- end -}}

{{/* toolkit.metadata: name and labels, indented by two. */}}
{{- define "toolkit.metadata" -}}
name: {{ include "toolkit.name" . }}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  {{- include "toolkit.labels" . | nindent 2 }}
{{- end -}}

{{/* toolkit.image: takes the root context and the image. */}}
{{- define "toolkit.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $tag := $image.tag | default $root.Chart.AppVersion | toString -}}
{{- if $image.digest -}}
{{ $root.Values.global.imageRegistry }}/{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $root.Values.global.imageRegistry }}/{{ $image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* toolkit.service: a service's settings over the defaults, as YAML. */}}
{{- define "toolkit.service" -}}
{{- $defaults := (index . 0).Values.defaults | deepCopy -}}
{{- mergeOverwrite $defaults (index . 1 | deepCopy) | toYaml -}}
{{- end -}}
