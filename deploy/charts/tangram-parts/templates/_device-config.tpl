{{/*
The ConfigMap that says which cards are sliced (docs/device-config.md), and the right to follow it.

It is made only if its content is given here: a cluster that had MetaX's components has one already, and this chart must
neither take it over nor remove it. Changes are followed, so no pod's template depends on it. Under GPU Operator the
content is in the spec of the one ClusterOperator, and the operator makes the ConfigMap.
*/}}
{{- define "tangram-parts.device-config" -}}
{{- $part := list . "gpu-device" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "tangram-parts.name" $part }}
  namespace: {{ .Values.gpuDevice.configNamespace | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [metax-device-config, device-config]
    verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "tangram-parts.name" $part }}
  namespace: {{ .Values.gpuDevice.configNamespace | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
{{- if ne .Values.gpuDevice.configNamespace "default" }}
---
# One that was applied without a namespace is not read; an event on it says so.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "tangram-parts.name" $part }}-default
  namespace: default
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [metax-device-config]
    verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "tangram-parts.name" $part }}-default
  namespace: default
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}-default
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
{{- end }}
{{- if ne .Chart.Name "metax-operator" }}
{{- with .Values.gpuDevice.deviceConfig }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: metax-device-config
  namespace: {{ $.Values.gpuDevice.configNamespace | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
data:
  {{- range $key, $value := . }}
  {{- if kindIs "string" $value }}
  {{ $key }}: {{ $value | quote }}
  {{- else }}
  {{ $key }}: | {{- toYaml $value | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
