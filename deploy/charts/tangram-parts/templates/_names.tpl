{{/*
Names and labels. Objects are called the same whatever the release is called, because one release serves a cluster and
because people, the manual and `tangram verify` look for them by name.
*/}}

{{/* What the names of the parts begin with: metax in the vendor's own charts, tangram in ours. */}}
{{- define "tangram-parts.prefix" -}}
{{- eq .Chart.Name "tangram" | ternary "tangram" "metax" -}}
{{- end -}}

{{/* The name of a part: (list . "gpu-device"). */}}
{{- define "tangram-parts.name" -}}
{{- $root := index . 0 -}}
{{ include "tangram-parts.prefix" $root }}-{{ index . 1 }}
{{- end -}}

{{/* Which pods are a part's: (list . "gpu-device"). Never anything that an upgrade changes: selectors cannot change. */}}
{{- define "tangram-parts.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* On every object: (list . "gpu-device"). */}}
{{- define "tangram-parts.labels" -}}
{{- $root := index . 0 -}}
{{ include "tangram-parts.selector" . }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* On every pod: what its part selects, and that no scheduler's webhook has business with it. The version is not here:
a pod whose image and arguments stay need not be made again. */}}
{{- define "tangram-parts.pod-labels" -}}
{{ include "tangram-parts.selector" . }}
hami.io/webhook: ignore
{{- end -}}

{{/* The name and labels of an object: (list . "gpu-device"). */}}
{{- define "tangram-parts.cluster-metadata" -}}
name: {{ include "tangram-parts.name" . }}
labels: {{- include "tangram-parts.labels" . | nindent 2 }}
{{- end -}}

{{/* The same in the release's namespace. */}}
{{- define "tangram-parts.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "tangram-parts.name" . }}
namespace: {{ $root.Release.Namespace | quote }}
labels: {{- include "tangram-parts.labels" . | nindent 2 }}
{{- end -}}
