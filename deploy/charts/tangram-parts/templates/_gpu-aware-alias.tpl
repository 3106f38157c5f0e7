{{/*
Where MetaX's manual looks for gpu-aware: namespace metax-gpu (gpuAware.aliasNamespace), a Service and a ConfigMap with
gpu-aware-plugin in their names (docs/gpu-aware.md).

The Service has no selector, since one selects pods of its own namespace alone: gpu-aware itself writes its endpoints. Of the
ConfigMap what was edited counts before gpu-aware-weight; its annotation says what was written here. The namespace stays
when the release goes, because others may have put something there.
*/}}
{{- define "tangram-parts.gpu-aware-alias" -}}
{{- $part := list . "gpu-aware-alias" -}}
{{- $place := .Values.gpuAware.aliasNamespace -}}
{{- $home := .Release.Namespace -}}
{{- if ne $place $home -}}
{{- if ne (include "tangram-parts.is-others" (list . "v1" "Namespace" "" $place)) "true" }}
---
apiVersion: v1
kind: Namespace
metadata:
  name: {{ $place | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
{{- end }}
{{- if eq (include "tangram-parts.is-others" (list . "v1" "Service" $place "gpu-aware-plugin")) "true" -}}
{{- printf "Service gpu-aware-plugin in namespace %s is not this release's, and a kube-scheduler may be asking it: remove it, or write gpuAware.aliasNamespace=\"\" for none there (docs/gpu-aware.md)." $place | fail -}}
{{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: gpu-aware-plugin
  namespace: {{ $place | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
spec:
  ports:
    - name: extender
      port: 8080
      targetPort: 8080
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{- include "tangram-parts.metadata" (list . "gpu-aware-endpoints") | nindent 2 }}
rules:
  # Their names are made up by Kubernetes.
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [list, watch]
---
{{ include "tangram-parts.gpu-aware-alias-binding" (list . "gpu-aware-endpoints" $home) }}
{{- end }}
{{- if ne (include "tangram-parts.is-others" (list . "v1" "ConfigMap" $place "gpu-aware-plugin")) "true" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: gpu-aware-plugin
  namespace: {{ $place | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
  annotations:
    tangram.dev/chart-weights: {{ dict "score" (.Values.gpuAware.scoreWeight | toString) "loss" (.Values.gpuAware.lossWeight | toString) | toJson | quote }}
data:
  score: {{ .Values.gpuAware.scoreWeight | toString | quote }}
  loss: {{ .Values.gpuAware.lossWeight | toString | quote }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "tangram-parts.name" $part }}
  namespace: {{ $place | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [gpu-aware-plugin]
    verbs: [list, watch]
  {{- if ne $place $home }}
  - apiGroups: [""]
    resources: [services]
    resourceNames: [gpu-aware-plugin]
    verbs: [get]
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    resourceNames: [gpu-aware-plugin-ipv4, gpu-aware-plugin-ipv6]
    verbs: [get, patch]
  # What is not there yet has no name for a role.
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [create]
  {{- end }}
---
{{ include "tangram-parts.gpu-aware-alias-binding" (list . "gpu-aware-alias" $place) }}
{{- end -}}

{{/* gpu-aware's account bound to a role: (list . "gpu-aware-alias" "metax-gpu"). */}}
{{- define "tangram-parts.gpu-aware-alias-binding" -}}
{{- $root := index . 0 -}}
{{- $part := list $root (index . 1) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "tangram-parts.name" $part }}
  namespace: {{ index . 2 | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" (list $root "gpu-aware") }}
    namespace: {{ $root.Release.Namespace | quote }}
{{- end -}}

{{/*
"true" for an object that is there and is not of this release: (list . "v1" "Service" "metax-gpu" "gpu-aware-plugin").
Without a cluster, as for `helm template`, nothing is there.
*/}}
{{- define "tangram-parts.is-others" -}}
{{- $root := index . 0 -}}
{{- $found := lookup (index . 1) (index . 2) (index . 3) (index . 4) -}}
{{- if $found -}}
{{- $notes := $found.metadata.annotations | default dict -}}
{{- $same := eq (index $notes "meta.helm.sh/release-name" | default "") $root.Release.Name -}}
{{- if not (and $same (eq (index $notes "meta.helm.sh/release-namespace" | default "") $root.Release.Namespace)) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}
