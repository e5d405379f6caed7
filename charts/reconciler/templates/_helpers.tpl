{{- define "reconciler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "reconciler.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "reconciler.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "reconciler.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "reconciler.selector" -}}
app.kubernetes.io/name: {{ include "reconciler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "reconciler.labels" -}}
{{ include "reconciler.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "reconciler.serviceAccount" -}}
{{- default (ternary (include "reconciler.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "reconciler.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- define "reconciler.audited" -}}
{{- if and (eq .Values.mode "act") .Values.audit.enabled }}yes{{ end }}
{{- end }}

{{/* Whether signed plans are performed. */}}
{{- define "reconciler.planned" -}}
{{- if .Values.plans.claim }}
{{- if ne .Values.mode "act" }}
{{- fail "plans are performed in mode act only" }}
{{- end }}yes
{{- end }}
{{- end }}

{{- define "reconciler.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* git-sync, once or forever. It keeps the user that its image has, because ssh asks who it is. */}}
{{- define "reconciler.gitSync" -}}
image: {{ .root.Values.manifests.git.image }}
args:
  - {{ printf "--repo=%s" .root.Values.manifests.git.repository | quote }}
  - {{ printf "--ref=%s" .root.Values.manifests.git.ref | quote }}
  - --root=/manifests
  - --link=current
  - {{ printf "--period=%s" .root.Values.manifests.git.period }}
  {{- with .root.Values.manifests.git.username }}
  - {{ printf "--username=%s" . | quote }}
  - --password-file=/etc/git-secret/password
  {{- end }}
  {{- if .once }}
  - --one-time
  {{- end }}
securityContext:
  runAsUser: 65533
  {{- include "reconciler.restricted" .root | nindent 2 }}
resources: {{- toYaml .root.Values.manifests.git.resources | nindent 2 }}
volumeMounts:
  - {name: manifests, mountPath: /manifests}
  - {name: tmp, mountPath: /tmp}
  {{- if .root.Values.manifests.git.secret }}
  - {name: git, mountPath: /etc/git-secret, readOnly: true}
  {{- end }}
{{- end }}
