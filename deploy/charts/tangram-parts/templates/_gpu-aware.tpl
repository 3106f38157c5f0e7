{{/*
gpu-aware, topology for the kube-scheduler that people keep (docs/gpu-aware.md).

The Service, its port and the ConfigMap with its two keys are called as in MetaX's own chart: the manual's commands and
people's notes name them. The weights are followed as they change, so no pod's template depends on them.
*/}}
{{- define "tangram-parts.gpu-aware" -}}
{{- $part := list . "gpu-aware" -}}
{{- $logs := list . .Values.gpuAware.log -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [gpu-aware-weight]
    verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: gpu-aware-weight
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
data:
  score: {{ .Values.gpuAware.scoreWeight | toString | quote }}
  loss: {{ .Values.gpuAware.lossWeight | toString | quote }}
---
apiVersion: v1
kind: Service
metadata:
  name: gpu-aware-service
  namespace: {{ .Release.Namespace | quote }}
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
spec:
  selector: {{- include "tangram-parts.selector" $part | nindent 4 }}
  ports:
    - name: extender
      port: 8080
      targetPort: extender
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  selector:
    matchLabels: {{- include "tangram-parts.selector" $part | nindent 6 }}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      # The scheduler asks it about every pod and binds none while nobody answers, not even the next gpu-aware. So on a
      # cluster with one control-plane node the old one must answer until the new one does.
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      labels: {{- include "tangram-parts.pod-labels" $part | nindent 8 }}
    spec:
      serviceAccountName: {{ include "tangram-parts.name" $part }}
      {{- with include "tangram-parts.pull-secrets" . }}{{ . | nindent 6 }}{{ end }}
      priorityClassName: system-cluster-critical
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              # Some distributions write a value to this label, so it is enough that it is there.
              - matchExpressions:
                  - {key: node-role.kubernetes.io/control-plane, operator: Exists}
                  - {key: kubernetes.io/os, operator: In, values: [linux]}
                  - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
      {{- include "tangram-parts.tolerate-everything" . | nindent 6 }}
      containers:
        - name: gpu-aware
          {{- include "tangram-parts.image" . | nindent 10 }}
          command: [tangram]
          args:
            - gpu-aware
            {{- include "tangram-parts.log-arguments" $logs | nindent 12 }}
            {{- with .Values.gpuAware.aliasNamespace }}
            - --alias-namespace
            - {{ . | quote }}
            {{- end }}
          ports:
            - name: extender
              containerPort: 8080
          {{- include "tangram-parts.probes" "extender" | nindent 10 }}
          resources: {{- toYaml .Values.gpuAware.resources | nindent 12 }}
          securityContext: {{- include "tangram-parts.confined" $logs | nindent 12 }}
          volumeMounts:
            {{- with include "tangram-parts.log-mount" $logs }}{{ . | nindent 12 }}{{ end }}
            - name: tmp
              mountPath: /tmp
      volumes:
        {{- with include "tangram-parts.log-volume" $logs }}{{ . | nindent 8 }}{{ end }}
        - name: tmp
          emptyDir:
            sizeLimit: 16Mi
{{- if .Values.gpuAware.aliasNamespace }}
{{- include "tangram-parts.gpu-aware-alias" . }}
{{- end }}
{{- end -}}
