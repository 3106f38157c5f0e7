{{/*
What the two agents need that a node has under the operator alone: (list . "driver-manager"). Both read and write their
own Node; roles cannot say "own", the admission policies beside them do.
*/}}
{{- define "metax-operator.agent-rights" -}}
{{- $root := index . 0 -}}
{{- $manager := eq (index . 1) "driver-manager" -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "tangram-parts.metadata" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{- include "tangram-parts.cluster-metadata" . | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, watch, patch]
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
  {{- if $manager }}
  - apiGroups: [""]
    resources: [nodes/status]
    verbs: [patch]
  # A driver stays while a pod on the node holds a card.
  - apiGroups: [""]
    resources: [pods]
    verbs: [get]
  {{- end }}
---
{{ include "metax-operator.binding" (list $root (index . 1) "Cluster") }}
{{- if $manager }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{- include "tangram-parts.metadata" . | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [driver-config]
    verbs: [list, watch]
---
{{ include "metax-operator.binding" (list $root (index . 1) "") }}
{{- end }}
{{- end -}}

{{/* A part's account bound to its role: (list . "driver-manager" "Cluster"), or "" for the namespace's role. */}}
{{- define "metax-operator.binding" -}}
{{- $root := index . 0 -}}
{{- $part := list $root (index . 1) -}}
{{- $wide := index . 2 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $wide }}RoleBinding
metadata: {{- include (empty $wide | ternary "tangram-parts.metadata" "tangram-parts.cluster-metadata") $part | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $wide }}Role
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ $root.Release.Namespace | quote }}
{{- end -}}
