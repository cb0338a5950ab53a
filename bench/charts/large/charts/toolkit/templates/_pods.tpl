{{- define "toolkit.probes" -}}
{{- range $probe := list "livenessProbe" "readinessProbe" "startupProbe" }}
{{ $probe }}:
  httpGet:
    path: {{ $.path }}{{ if eq $probe "readinessProbe" }}?ready{{ end }}
    port: http
  {{- if ne $probe "startupProbe" }}
  initialDelaySeconds: {{ $.initialDelaySeconds }}
  {{- else }}
  failureThreshold: 30
  {{- end }}
  periodSeconds: {{ $.periodSeconds }}
{{- end }}
{{- end -}}

{{/* toolkit.spread: topologySpreadConstraints; takes root, component, topology keys. */}}
{{- define "toolkit.spread" -}}
{{- $args := . -}}
{{- range index . 2 }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "toolkit.selector" $args | nindent 6 }}
{{- end }}
{{- end -}}

{{- define "toolkit.affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchExpressions:
            - key: app.kubernetes.io/name
              operator: In
              values: [{{ index . 1 | quote }}]
            - key: app.kubernetes.io/instance
              operator: In
              values: [{{ (index . 0).Release.Name | quote }}]
{{- end -}}
