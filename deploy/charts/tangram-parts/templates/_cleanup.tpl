{{/*
What `helm uninstall` does last: labels, annotations and whatever else was written to nodes goes too, and what stays is
said (docs/uninstall.md). Account and rights are hooks like the Job, because those of the release are gone by then.

It ends before helm's own five minutes do, so that helm shows its words and not only that time has run out.
*/}}
{{- define "tangram-parts.cleanup-metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "tangram-parts.name" (list $root "cleanup") }}
labels: {{- include "tangram-parts.labels" (list $root "cleanup") | nindent 2 }}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-weight: {{ index . 1 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- define "tangram-parts.cleanup" -}}
{{- $part := list . "cleanup" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  namespace: {{ .Release.Namespace | quote }}
  {{- include "tangram-parts.cleanup-metadata" (list . -3) | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{- include "tangram-parts.cleanup-metadata" (list . -2) | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, patch]
  - apiGroups: [""]
    resources: [nodes/status]
    verbs: [patch]
  - apiGroups: [""]
    resources: [pods]
    verbs: [list]
  - apiGroups: [scheduling.koordinator.sh]
    resources: [devices]
    verbs: [list, delete]
  {{- if eq .Chart.Name "metax-operator" }}
  # Where the operator was ended before it could take it away.
  - apiGroups: [node.k8s.io]
    resources: [runtimeclasses]
    resourceNames: [metax]
    verbs: [get, delete]
  # The kind goes with its last object.
  - apiGroups: [gpu.metax-tech.com]
    resources: [clusteroperators]
    verbs: [list]
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    resourceNames: [clusteroperators.gpu.metax-tech.com]
    verbs: [get, delete]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{- include "tangram-parts.cleanup-metadata" (list . -1) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: {{ .Release.Namespace | quote }}
  {{- include "tangram-parts.cleanup-metadata" (list . -2) | nindent 2 }}
rules:
  - apiGroups: [apps]
    resources: [daemonsets, deployments]
    verbs: [list]
  {{- if eq .Chart.Name "tangram" }}
  - apiGroups: [""]
    resources: [secrets]
    resourceNames: [tangram-scheduler-tls]
    # One that somebody else made under this name is theirs, so it is looked at first.
    verbs: [get, delete]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [tangram-scheduler]
    verbs: [delete]
  {{- end }}
  {{- if eq .Chart.Name "metax-operator" }}
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [driver-config]
    # One that somebody else has edited is theirs, so it is looked at first.
    verbs: [get, delete]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [metax-operator]
    verbs: [delete]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: {{ .Release.Namespace | quote }}
  {{- include "tangram-parts.cleanup-metadata" (list . -1) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
---
apiVersion: batch/v1
kind: Job
metadata:
  namespace: {{ .Release.Namespace | quote }}
  {{- include "tangram-parts.cleanup-metadata" (list . 0) | nindent 2 }}
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
spec:
  # What failed is said in full by the first attempt; the second is for an API server that was away for a moment.
  backoffLimit: 1
  activeDeadlineSeconds: 280
  template:
    metadata:
      labels: {{- include "tangram-parts.pod-labels" $part | nindent 8 }}
    spec:
      serviceAccountName: {{ include "tangram-parts.name" $part }}
      {{- with include "tangram-parts.pull-secrets" . }}{{ . | nindent 6 }}{{ end }}
      restartPolicy: Never
      nodeSelector:
        kubernetes.io/os: linux
      affinity: {{- include "tangram-parts.built-for" . | nindent 8 }}
      # Where all nodes are cordoned or tainted there is still something to be removed from them.
      {{- include "tangram-parts.tolerate-everything" . | nindent 6 }}
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: cleanup
          {{- include "tangram-parts.image" . | nindent 10 }}
          command: [tangram]
          args: [cleanup, --namespace, {{ .Release.Namespace | quote }}, --chart, {{ .Chart.Name }}, --timeout, 2m, -o, table]
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
            readOnlyRootFilesystem: true
          # In a namespace with a quota, pods that ask for nothing are not made.
          resources:
            requests: {cpu: 10m, memory: 64Mi}
{{- end -}}
