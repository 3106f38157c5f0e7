{{/*
docs/scheduler-install.md says what each right is for; a test compares these with that page, and with what preflight
tries out. One account serves both containers of the pod.
*/}}
{{- define "tangram.scheduler-rights" -}}
{{- $part := list . "scheduler" }}
{{- $own := eq .Values.certificates.source "self" }}
{{- $beside := .Values.scheduler.kubeScheduler.enabled }}
{{- $subjects := printf "subjects:\n  - kind: ServiceAccount\n    name: %s\n    namespace: %q" (include "tangram-parts.name" $part) .Release.Namespace }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [get, list, watch, patch]}
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [pods/binding, pods/eviction], verbs: [create]}
  - {apiGroups: [""], resources: [pods/status], verbs: [patch]}
  - {apiGroups: [""], resources: [resourcequotas], verbs: [list, watch]}
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
  - {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [list, watch]}
  - {apiGroups: [scheduling.koordinator.sh], resources: [devices], verbs: [list, watch]}
  - {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
  - {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
  {{- if $own }}
  # It writes the caBundle of its own certificate, in these alone. It looks for both, and the second is made only where
  # no policy can stand in its place.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations]
    resourceNames: [tangram-scheduler]
    verbs: [get, watch, patch]
  - apiGroups: [admissionregistration.k8s.io]
    resources: [validatingwebhookconfigurations]
    resourceNames: [tangram-scheduler]
    verbs: [get, watch{{ if not (include "tangram.has-conditions" .) }}, patch{{ end }}]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "tangram-parts.name" $part }}
{{ $subjects }}
---
{{- if $beside }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
rules:
  # Whichever Lease it is, kube-scheduler may make it by the role of its own below.
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [tangram-scheduler]
    verbs: [get, list, watch, update]
  {{- if $own }}
  - {apiGroups: [""], resources: [secrets], verbs: [create]}
  - {apiGroups: [""], resources: [secrets], resourceNames: [tangram-scheduler-tls], verbs: [get, watch, patch]}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}
{{ $subjects }}
---
# What makes the kube-scheduler beside it one.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{- include "tangram-parts.cluster-metadata" (list . "kube-scheduler") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:kube-scheduler
{{ $subjects }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{- include "tangram-parts.cluster-metadata" (list . "volume-scheduler") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:volume-scheduler
{{ $subjects }}
---
# Who may read kube-scheduler's own pages is told by a ConfigMap that is in kube-system in every cluster.
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: tangram-scheduler-authentication
  namespace: kube-system
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
{{ $subjects }}
{{- end }}
{{- end -}}
