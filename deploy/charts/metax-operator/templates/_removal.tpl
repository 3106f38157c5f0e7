{{- define "metax-operator.removal-metadata" -}}
{{- $part := list (index . 0) "remove-operator" -}}
name: {{ include "tangram-parts.name" $part }}
labels: {{- include "tangram-parts.labels" $part | nindent 2 }}
annotations:
  helm.sh/hook: pre-delete
  helm.sh/hook-weight: {{ index . 1 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
