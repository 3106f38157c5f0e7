{{/*
gpu-device, the node agent: docs/gpu-device.md says what each right and each path is for, and a test compares.

Where it runs: on nodes that gpu-label found a card in. `kubectl cordon` takes those labels off, and so the agent leaves
a node before somebody works on its driver.

Paths are the same inside as on the host, but for /usr and /etc, which are the image's own. What is written into CDI
files is read by the host's runtime, and the vendors' libraries have the paths of device nodes and of the kernel's files
built in. /sys and /proc need no mount: the kernel shows a privileged container the same cards there as the host.
*/}}
{{- define "tangram-parts.gpu-device" -}}
{{ include "tangram-parts.gpu-device-rights" . }}
---
{{ include "tangram-parts.gpu-device-daemons" . }}
{{- end -}}

{{/* Who it is, what it may do and what it follows, without its pods: under GPU Operator, the operator makes those. */}}
{{- define "tangram-parts.gpu-device-rights" -}}
{{- $part := list . "gpu-device" -}}
{{- include "tangram-parts.refuse-beside" (list . "gpu-device" "gpuDevice") -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
rules:
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, watch, patch]
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, watch, patch]
  - apiGroups: [""]
    resources: [nodes/status]
    verbs: [patch]
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
  - apiGroups: [scheduling.koordinator.sh]
    resources: [devices]
    verbs: [list, watch, create, patch]
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
{{ include "tangram-parts.gpu-device-policy" . }}
{{- end }}
---
{{ include "tangram-parts.device-config" . }}
{{- end -}}

{{- define "tangram-parts.gpu-device-daemons" -}}
{{- $part := list . "gpu-device" -}}
{{- $logs := list . .Values.gpuDevice.log -}}
apiVersion: apps/v1
kind: DaemonSet
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  selector:
    matchLabels: {{- include "tangram-parts.selector" $part | nindent 6 }}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      # Running pods do not notice. A node whose agent is away for a few seconds gets no new ones, so a tenth of the
      # nodes at a time; one by one, a thousand nodes would take hours. No second pod beside the first: it would wait for
      # the first to go.
      maxUnavailable: 10%
  template:
    metadata:
      labels: {{- include "tangram-parts.pod-labels" $part | nindent 8 }}
    spec:
      serviceAccountName: {{ include "tangram-parts.name" $part }}
      {{- with include "tangram-parts.pull-secrets" . }}{{ . | nindent 6 }}{{ end }}
      # Without it no container on the node gets a card: it goes last and comes first.
      priorityClassName: system-node-critical
      # It tells the schedulers, lets pods that are on their way arrive and the kubelet's calls end, and writes what it
      # still owes: fifteen seconds at most.
      terminationGracePeriodSeconds: 30
      # MetaX's library leaves out processes that have no number in its PID namespace: without the host's, every card in
      # use would look idle, and what is destructive waits for idle cards (docs/security.md).
      hostPID: true
      {{- with .Values.gpuDevice.nodeSelector }}
      # Beside the cards: of nodes that have some, those that are to be served from here.
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              {{- range (include "tangram-parts.vendors" . | fromJson).vendors }}
              - matchExpressions:
                  - {key: {{ eq . "metax" | ternary "metax-tech.com/gpu.installed" "tangram.dev/mthreads.installed" }}, operator: In, values: ["true"]}
              {{- end }}
      {{- include "tangram-parts.tolerate-everything" . | nindent 6 }}
      containers:
        - name: gpu-device
          {{- include "tangram-parts.image" . | nindent 10 }}
          command: [tangram]
          args:
            - gpu-device
            - --driver
            - {{ .Values.gpuDevice.driver | quote }}
            {{- with include "tangram-parts.vendor-arguments" . }}{{ . | nindent 12 }}{{ end }}
            {{- with .Values.gpuDevice.mthreadsComputePolicy }}
            - --mthreads-compute-policy
            - {{ . | quote }}
            {{- end }}
            - --healthy-interval
            - {{ .Values.gpuDevice.healthyInterval | int | quote }}
            - --config-namespace
            - {{ .Values.gpuDevice.configNamespace | quote }}
            - --runtime-config
            - /host/etc/containerd/config.toml
            {{- include "tangram-parts.log-arguments" $logs | nindent 12 }}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            # Moore Threads' library is where the host's own libraries are, which must not take the place of the image's.
            - name: MTML_LIBRARY_PATH
              value: /host/usr/lib:/host/usr/lib64:/host/usr/local/lib
          ports:
            - name: metrics
              containerPort: 9394
          {{- include "tangram-parts.probes" "metrics" | nindent 10 }}
          resources: {{- toYaml .Values.gpuDevice.resources | nindent 12 }}
          # Beside the node's own /dev there is no place for the kubelet's note below it.
          terminationMessagePath: /tmp/termination-log
          securityContext:
            privileged: true
            runAsUser: 0
            runAsGroup: 0
            readOnlyRootFilesystem: true
          volumeMounts:
            - name: device-plugins
              mountPath: /var/lib/kubelet/device-plugins
            - name: pod-resources
              mountPath: /var/lib/kubelet/pod-resources
              readOnly: true
            - name: cdi
              mountPath: /var/run/cdi
            - name: state
              mountPath: /run/tangram
            - name: koordlet
              mountPath: /var/run/koordlet/xpu-device-infos
            - name: dev
              mountPath: /dev
            - name: opt
              mountPath: /opt
              readOnly: true
            - name: usr
              mountPath: /host/usr
              readOnly: true
            - name: etc
              mountPath: /host/etc
              readOnly: true
            {{- with include "tangram-parts.log-mount" $logs }}{{ . | nindent 12 }}{{ end }}
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: device-plugins
          hostPath:
            path: /var/lib/kubelet/device-plugins
            type: Directory
        - name: pod-resources
          hostPath:
            path: /var/lib/kubelet/pod-resources
            type: Directory
        - name: cdi
          hostPath:
            path: /var/run/cdi
            type: DirectoryOrCreate
        - name: state
          hostPath:
            path: /run/tangram
            type: DirectoryOrCreate
        - name: koordlet
          hostPath:
            path: /var/run/koordlet/xpu-device-infos
            type: DirectoryOrCreate
        # All of it, not the nodes of the cards: those come when a driver is loaded, and change with it.
        - name: dev
          hostPath:
            path: /dev
            type: Directory
        # All of it, not the folders of the drivers: those may be links, or be installed later.
        - name: opt
          hostPath:
            path: /opt
            type: DirectoryOrCreate
        # Not the folder of a driver below it: a host need not have that, and a mount would make it.
        - name: usr
          hostPath:
            path: /usr
            type: Directory
        # All of it, as a host may lack the folder below and be unable to make it.
        - name: etc
          hostPath:
            path: /etc
            type: Directory
        {{- with include "tangram-parts.log-volume" $logs }}{{ . | nindent 8 }}{{ end }}
        - name: tmp
          emptyDir:
            sizeLimit: 16Mi
{{- end -}}
