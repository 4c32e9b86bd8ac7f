{{/* Names, labels and what else several objects share. */}}

{{- define "gpu-triage.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "gpu-triage.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "gpu-triage.cleanupName" -}}
{{- printf "%s-cleanup" (include "gpu-triage.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end }}

{{- define "gpu-triage.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "gpu-triage.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{/* What a Deployment may never change: kept apart from the labels that a new version changes. */}}
{{- define "gpu-triage.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-triage.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gpu-triage.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gpu-triage.labels" -}}
{{ include "gpu-triage.selectorLabels" . }}
{{ include "gpu-triage.commonLabels" . }}
{{- end }}

{{- define "gpu-triage.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The port of /healthz, /readyz and /metrics, out of settings.httpAddress. */}}
{{- define "gpu-triage.port" -}}
{{- splitList ":" .Values.settings.httpAddress | last -}}
{{- end }}

{{/* NAMESPACE/NAME of the Lease by which two replicas agree which one writes; none for one. */}}
{{- define "gpu-triage.lease" -}}
{{- if .Values.settings.lease -}}
{{- .Values.settings.lease -}}
{{- else if gt (int .Values.replicas) 1 -}}
{{- printf "%s/%s" .Release.Namespace (include "gpu-triage.fullname" .) -}}
{{- end -}}
{{- end }}

{{/* Every setting as GPU_TRIAGE_*: nodeLabels becomes GPU_TRIAGE_NODE_LABELS, a list is joined by
commas, and what is empty is left to the operator's default. */}}
{{- define "gpu-triage.settings" -}}
{{- $settings := set (deepCopy .Values.settings) "lease" (include "gpu-triage.lease" .) -}}
{{- range $name, $value := $settings -}}
{{- $text := kindIs "slice" $value | ternary (join "," $value) (toString $value) -}}
{{- if $text }}
- name: GPU_TRIAGE_{{ snakecase $name | upper }}
  value: {{ $text | quote }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What the pod may do on its node: nothing. Pod Security "restricted" takes it. */}}
{{- define "gpu-triage.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "gpu-triage.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "gpu-triage.env" -}}
# The user 65532 has no name in the image's base; Python asks for one all the same.
- name: LOGNAME
  value: gpu-triage
{{- include "gpu-triage.settings" . }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An object that Helm makes after the release is gone, at a weight, and removes again. */}}
{{- define "gpu-triage.hook" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
