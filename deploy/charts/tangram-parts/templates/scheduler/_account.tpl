{{- define "tangram.scheduler-account" -}}
{{- include "tangram.refuse" . }}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "tangram-parts.metadata" (list . "scheduler") | nindent 2 }}
{{- end -}}
