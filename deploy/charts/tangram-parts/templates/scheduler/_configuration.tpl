{{/*
One ConfigMap for both programs. tangram follows its two files as they change. kube-scheduler reads its own only when it
starts, so that one alone is in the pods' checksum.
*/}}
{{- define "tangram.scheduler-configuration" -}}
apiVersion: v1
kind: ConfigMap
metadata: {{- include "tangram-parts.metadata" (list . "scheduler") | nindent 2 }}
data:
  {{- if .Values.scheduler.kubeScheduler.enabled }}
  kube-scheduler.yaml: |
    {{- include "tangram.kube-scheduler.yaml" . | nindent 4 }}
  {{- end }}
  scheduler.yaml: |
    {{- include "tangram.scheduler.yaml" . | nindent 4 }}
  {{- with .Values.scheduler.deviceConfig }}
  device-config.yaml: |
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
