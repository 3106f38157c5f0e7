{{- define "tangram.scheduler-deployment" -}}
{{- $part := list . "scheduler" }}
{{- $scheduler := .Values.scheduler }}
{{- $beside := $scheduler.kubeScheduler.enabled }}
{{- $home := printf "%s/%s" .Release.Namespace (include "tangram-parts.name" $part) }}
{{- $names := (include "tangram.scheduler-names" . | fromJson).names }}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  replicas: {{ $scheduler.replicas }}
  selector:
    matchLabels: {{- include "tangram-parts.selector" $part | nindent 6 }}
  strategy:
    {{- if $beside }}
    type: RollingUpdate
    rollingUpdate:
      # A new one is ready, with the whole cluster read, before an old one goes: the webhook is always served, and the
      # Lease goes from one that is warm to one that is.
      maxUnavailable: 0
      maxSurge: 1
    {{- else }}
    # No Lease says which of two decides, so there never are two, not even for the length of an upgrade.
    type: Recreate
    {{- end }}
  template:
    metadata:
      labels: {{- include "tangram-parts.pod-labels" $part | nindent 8 }}
      {{- if $beside }}
      annotations:
        # Of what it says and not of how it is written: a comment is no reason to start anew.
        checksum/kube-scheduler: {{ include "tangram.kube-scheduler.yaml" . | fromYaml | toJson | sha256sum }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "tangram-parts.name" $part }}
      {{- include "tangram-parts.pull-secrets" . | nindent 6 }}
      # Without it no pod with cards is placed, or let in.
      priorityClassName: system-cluster-critical
      nodeSelector: {{- merge (dict "kubernetes.io/os" "linux") ($scheduler.nodeSelector | default dict) | toYaml | nindent 8 }}
      tolerations:
        - key: node-role.kubernetes.io/control-plane
          operator: Exists
          effect: NoSchedule
        {{- if semverCompare "<1.25.0-0" .Capabilities.KubeVersion.Version }}
        # Control planes were called so up to Kubernetes 1.24.
        - key: node-role.kubernetes.io/master
          operator: Exists
          effect: NoSchedule
        {{- end }}
        {{- with $scheduler.tolerations }}{{ toYaml . | nindent 8 }}{{ end }}
      affinity:
        {{- include "tangram-parts.built-for" . | nindent 8 }}
        podAntiAffinity:
          # Preferred and not required: on a cluster of one or two nodes an upgrade needs a place for one more.
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "tangram-parts.selector" $part | nindent 20 }}
      containers:
        - name: tangram-scheduler
          {{- include "tangram-parts.image" . | nindent 10 }}
          command: [tangram]
          args:
            - scheduler
            - --scheduler-name
            - {{ first $names | quote }}
            {{- range rest $names }}
            - --also-serve
            - {{ . | quote }}
            {{- else }}
            - --empty-also-serve
            {{- end }}
            - --lease
            - {{ $beside | ternary $home "none" | quote }}
            - --service
            - {{ $home | quote }}
            - --webhooks
            - {{ include "tangram-parts.name" $part | quote }}
            - --account
            - {{ include "tangram.account" $part | quote }}
            {{- range (include "tangram.trusted" . | fromJson).agents }}
            - --agent-account
            - {{ . | quote }}
            {{- else }}
            - --empty-agent-account
            {{- end }}
            - --config
            - /etc/tangram/scheduler.yaml
            {{- if $scheduler.deviceConfig }}
            - --device-config-file
            - /etc/tangram/device-config.yaml
            {{- end }}
            {{- if not $beside }}
            - --extender-address
            - ""
            - --client-ca
            - /etc/tangram-callers/ca.crt
            {{- end }}
            {{- if ne .Values.certificates.source "self" }}
            - --tls-cert
            - /etc/tangram-certificate/tls.crt
            - --tls-key
            - /etc/tangram-certificate/tls.key
            {{- end }}
            {{- if $scheduler.legacyMetrics }}
            - --legacy-metrics
            {{- end }}
            {{- include "tangram.scheduler-log" . | nindent 12 }}
          ports:
            - name: https
              containerPort: 9443
          # Ready once it has read the whole cluster and has a certificate, whether or not it holds the Lease.
          readinessProbe:
            httpGet:
              path: /readyz
              port: https
              scheme: HTTPS
            periodSeconds: 2
            timeoutSeconds: 2
          livenessProbe:
            httpGet:
              path: /healthz
              port: https
              scheme: HTTPS
            initialDelaySeconds: 30
            periodSeconds: 10
            timeoutSeconds: 5
          # Whoever calls the webhook learns a moment later than this pod that it goes, and finds it there until then. The
          # kube-scheduler beside it ends at once, and its last questions are answered.
          lifecycle:
            preStop:
              exec:
                command: [python3, -c, "import time; time.sleep(5)"]
          resources: {{- toYaml $scheduler.resources | nindent 12 }}
          securityContext: {{- include "tangram.restricted" . | nindent 12 }}
          volumeMounts:
            # Folders and not single files: a file mounted by itself never changes.
            - name: configuration
              mountPath: /etc/tangram
              readOnly: true
            {{- if not $beside }}
            - name: callers
              mountPath: /etc/tangram-callers
              readOnly: true
            {{- end }}
            {{- if ne .Values.certificates.source "self" }}
            - name: certificate
              mountPath: /etc/tangram-certificate
              readOnly: true
            {{- end }}
        {{- if $beside }}
        {{- $kube := $scheduler.kubeScheduler }}
        - name: kube-scheduler
          image: {{ printf "%s/%s:%s" $kube.image.registry $kube.image.name ($kube.imageTag | default $kube.image.tag | default (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+(-(alpha|beta|rc)[.][0-9]+)?" .Capabilities.KubeVersion.Version)) | quote }}
          imagePullPolicy: {{ .Values.pullPolicy }}
          command: [kube-scheduler]
          args:
            - --config=/etc/tangram/kube-scheduler.yaml
            {{- if semverCompare ">=1.32.0-0 <1.37.0-0" .Capabilities.KubeVersion.Version }}
            # From 1.32 on it asks its own rules whether a new or changed node is worth another try, and these do not know
            # that others count some of the resources: a slice that waits for its first node would wait for the five
            # minutes after which everything is tried again. So everything is, after half a minute. The option is an old
            # one that newer versions may not have.
            - --pod-max-in-unschedulable-pods-duration=30s
            {{- end }}
          livenessProbe:
            httpGet:
              path: /healthz
              port: 10259
              scheme: HTTPS
            initialDelaySeconds: 10
            periodSeconds: 10
            timeoutSeconds: 5
          resources: {{- toYaml $kube.resources | nindent 12 }}
          securityContext: {{- include "tangram.restricted" . | nindent 12 }}
          volumeMounts:
            - name: configuration
              mountPath: /etc/tangram
              readOnly: true
        {{- end }}
      volumes:
        - name: configuration
          configMap:
            name: {{ include "tangram-parts.name" $part }}
        {{- if not $beside }}
        - name: callers
          configMap:
            name: {{ $scheduler.clientCA | quote }}
        {{- end }}
        {{- if ne .Values.certificates.source "self" }}
        - name: certificate
          secret:
            secretName: {{ include "tangram.certificate-secret" . | quote }}
        {{- end }}
{{- end -}}
