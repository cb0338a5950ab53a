"""A chart in the shape of prometheus-community's alertmanager: a StatefulSet whose template is much longer than what it renders, with
the container's image deep inside."""

HELPERS = """{{- define "am.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "am.fullname" -}}
{{- if contains (include "am.name" .) .Release.Name }}
{{- .Release.Name }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "am.name" .) }}
{{- end }}
{{- end }}
{{- define "am.selectorLabels" -}}
app.kubernetes.io/name: {{ include "am.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "am.labels" -}}
helm.sh/chart: {{ .Chart.Name }}
{{ include "am.selectorLabels" . }}
{{- end }}
"""


def optional(key, indent, plain=False):
    """A block that most values leave out."""
    pad = " " * indent
    body = f"{pad}{key}: {{{{ . }}}}" if plain else f"{pad}{key}:\n{pad}  {{{{- toYaml . | nindent {indent + 2} }}}}"
    return f"{pad}{{{{- with .Values.{key} }}}}\n{body}\n{pad}{{{{- end }}}}\n"


STATEFUL_SET = """{{- $fullname := include "am.fullname" . }}
{{- $port := .Values.service.port }}
{{- $cluster := .Values.service.clusterPort }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $fullname }}
  labels:
    {{- include "am.labels" . | nindent 4 }}
""" + optional("statefulSetAnnotations", 2) + """spec:
  replicas: {{ .Values.replicaCount }}
""" + optional("revisionHistoryLimit", 2, True) + optional("minReadySeconds", 2, True) + """  selector:
    matchLabels:
      {{- include "am.selectorLabels" . | nindent 6 }}
  serviceName: {{ $fullname }}-headless
  template:
    metadata:
      labels:
        {{- include "am.selectorLabels" . | nindent 8 }}
      annotations:
        {{- if not .Values.configmapReload.enabled }}
        checksum/config: {{ .Values.config | toYaml | sha256sum }}
        {{- end }}
        {{- with .Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
""" + "".join(optional(key, 6) for key in (
    "imagePullSecrets", "dnsConfig", "nodeSelector", "schedulerName", "priorityClassName", "topologySpreadConstraints",
    "tolerations", "runtimeClassName", "terminationGracePeriodSeconds", "hostNetwork", "hostAliases", "dnsPolicy", "overhead", "readinessGates",
    "shareProcessNamespace", "setHostnameAsFQDN")) + """      {{- if or .Values.podAntiAffinity .Values.affinity }}
      affinity:
        {{- with .Values.affinity }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if eq .Values.podAntiAffinity "hard" }}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: {{ .Values.topologyKey }}
              labelSelector:
                matchExpressions:
                  - {key: app.kubernetes.io/name, operator: In, values: [{{ include "am.name" . }}]}
        {{- end }}
      {{- end }}
      {{- with .Values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.extraInitContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        {{- if .Values.configmapReload.enabled }}
        - name: {{ .Chart.Name }}-{{ .Values.configmapReload.name }}
          image: "{{ .Values.configmapReload.image }}"
          {{- with .Values.configmapReload.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          args:
            {{- if .Values.configmapReload.args }}
            {{- toYaml .Values.configmapReload.args | nindent 12 }}
            {{- else }}
            - --watched-dir=/etc/alertmanager
            - --reload-url=http://127.0.0.1:9093/-/reload
            {{- end }}
        {{- end }}
        - name: {{ .Chart.Name }}
          securityContext:
            {{- toYaml .Values.securityContext | nindent 12 }}
          image: {{ if .Values.image.repository }}"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"{{ else }}""{{ end }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            - --storage.path=/alertmanager
            {{- if gt (int .Values.replicaCount) 1 }}
            {{- range $i := until (int .Values.replicaCount) }}
            - --cluster.peer={{ $fullname }}-{{ $i }}.{{ $fullname }}-headless:{{ $cluster }}
            {{- end }}
            {{- end }}
            {{- range $key, $value := .Values.extraArgs }}
            - --{{ $key }}={{ $value }}
            {{- end }}
          ports:
            - name: http
              containerPort: {{ $port }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
"""
IMAGE = "          image: {{ if"

VALUES = """replicaCount: 2
podAntiAffinity: ""
service: {port: 9093, clusterPort: 9094}
configmapReload: {enabled: true, name: reload, image: "example.com/reload:1"}
config: {route: {receiver: default}}
securityContext: {runAsNonRoot: true, runAsUser: 65534}
podSecurityContext: {fsGroup: 65534}
image: {repository: example.com/alertmanager, tag: "", pullPolicy: IfNotPresent}
extraArgs: {log.level: info}
resources: {limits: {memory: 64Mi}}
"""

FILES = {"Chart.yaml": "{apiVersion: v2, name: alertmanager, version: 1.0.0, appVersion: v0.28.0}\n", "values.yaml": VALUES,
         "templates/_helpers.tpl": HELPERS, "templates/statefulset.yaml": STATEFUL_SET}


def line_of(start):
    """Of the template, counted from 1."""
    return [line.startswith(start) for line in STATEFUL_SET.splitlines()].index(True) + 1
