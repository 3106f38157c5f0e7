{{/* Labels by which Prometheus and Grafana choose, beside those of every object, which stay as they are:
(list (list . "scheduler") .Values.monitoring.serviceMonitor.labels) */}}
{{- define "tangram.monitoring-labels" -}}
{{- $chosen := deepCopy (index . 1 | default dict) -}}
{{- mergeOverwrite $chosen (include "tangram-parts.labels" (index . 0) | fromYaml) | toYaml -}}
{{- end -}}
