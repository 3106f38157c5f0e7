{{- define "tangram.scheduler-certificate" -}}
{{- if eq .Values.certificates.source "cert-manager" }}
{{- $part := list . "scheduler" }}
{{- $name := include "tangram-parts.name" $part }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  secretName: {{ include "tangram.certificate-secret" . | quote }}
  # What a Service is called by others; the API server uses the first.
  dnsNames:
    - {{ $name }}.{{ .Release.Namespace }}.svc
    - {{ $name }}.{{ .Release.Namespace }}
    - {{ $name }}
    - {{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
  usages: [digital signature, key encipherment, server auth]
  issuerRef: {{- toYaml .Values.certificates.issuerRef | nindent 4 }}
{{- end }}
{{- end -}}
