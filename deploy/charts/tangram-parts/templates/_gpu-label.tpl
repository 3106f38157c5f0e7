{{/*
gpu-label, the labels of nodes: on every Linux node, because that a node has no card is a label too.

It reads what the kernel shows of the PCI bus in every container's /sys, and nothing else of the host: all labels follow
from that. The vendors' libraries would tell the same and want device nodes, which only a privileged container has. A
`driver` that needs more sees the host's folders in which drivers are, and cannot write there.
*/}}
{{- define "tangram-parts.gpu-label" -}}
{{ include "tangram-parts.gpu-label-rights" . }}
---
{{ include "tangram-parts.gpu-label-daemons" . }}
{{- end -}}

{{/* Who it is and what it may do, without its pods: under GPU Operator, the operator makes those. */}}
{{- define "tangram-parts.gpu-label-rights" -}}
{{- $part := list . "gpu-label" -}}
{{- include "tangram-parts.refuse-beside" (list . "gpu-label" "gpuLabel") -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, watch, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "tangram-parts.name" $part }}
subjects:
  - kind: ServiceAccount
    name: {{ include "tangram-parts.name" $part }}
    namespace: {{ .Release.Namespace | quote }}
{{- if include "tangram-parts.has-policies" . }}
---
{{ include "tangram-parts.gpu-label-policy" . }}
{{- end }}
{{- end -}}

{{- define "tangram-parts.gpu-label-daemons" -}}
{{- $part := list . "gpu-label" -}}
{{- $logs := list . .Values.gpuLabel.log -}}
{{- $way := .Values.gpuLabel.driver | splitList ":" | first -}}
apiVersion: apps/v1
kind: DaemonSet
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  selector:
    matchLabels: {{- include "tangram-parts.selector" $part | nindent 6 }}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      # Labels stay while nobody looks after them.
      maxUnavailable: 10%
  template:
    metadata:
      labels: {{- include "tangram-parts.pod-labels" $part | nindent 8 }}
    spec:
      serviceAccountName: {{ include "tangram-parts.name" $part }}
      {{- with include "tangram-parts.pull-secrets" . }}{{ . | nindent 6 }}{{ end }}
      # gpu-device follows the labels, so what is true of it is true here.
      priorityClassName: system-node-critical
      nodeSelector:
        kubernetes.io/os: linux
      affinity: {{- include "tangram-parts.built-for" . | nindent 8 }}
      {{- include "tangram-parts.tolerate-everything" . | nindent 6 }}
      containers:
        - name: gpu-label
          {{- include "tangram-parts.image" . | nindent 10 }}
          command: [tangram]
          args:
            - gpu-label
            - --driver
            - {{ .Values.gpuLabel.driver | quote }}
            - --product-names
            - {{ .Values.gpuLabel.productNames }}
            - --driver-mode
            - {{ .Values.gpuLabel.driverMode }}
            {{- with include "tangram-parts.vendor-arguments" . }}{{ . | nindent 12 }}{{ end }}
            {{- include "tangram-parts.log-arguments" $logs | nindent 12 }}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          ports:
            - name: metrics
              containerPort: 9395
          {{- include "tangram-parts.probes" "metrics" | nindent 10 }}
          resources: {{- toYaml .Values.gpuLabel.resources | nindent 12 }}
          securityContext: {{- include "tangram-parts.confined" $logs | nindent 12 }}
          volumeMounts:
            {{- with include "tangram-parts.log-mount" $logs }}{{ . | nindent 12 }}{{ end }}
            {{- if eq $way "simulated" }}
            - name: state
              mountPath: /run/tangram
              readOnly: true
            {{- else if or (eq $way "mxsml") (eq $way "mx-smi") }}
            - name: opt
              mountPath: /opt
              readOnly: true
            - name: usr
              mountPath: /host/usr
              readOnly: true
            {{- end }}
            - name: tmp
              mountPath: /tmp
      volumes:
        {{- with include "tangram-parts.log-volume" $logs }}{{ . | nindent 8 }}{{ end }}
        {{- if eq $way "simulated" }}
        - name: state
          hostPath:
            path: /run/tangram
            type: DirectoryOrCreate
        {{- else if or (eq $way "mxsml") (eq $way "mx-smi") }}
        - name: opt
          hostPath:
            path: /opt
            type: DirectoryOrCreate
        # Not the driver's folder below it: a host need not have that, and a mount would make it.
        - name: usr
          hostPath:
            path: /usr
            type: Directory
        {{- end }}
        - name: tmp
          emptyDir:
            sizeLimit: 16Mi
{{- end -}}
