{{- define "tangram.scheduler-service" -}}
{{- $part := list . "scheduler" }}
apiVersion: v1
kind: Service
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  selector: {{- include "tangram-parts.selector" $part | nindent 4 }}
  ports:
    - name: https
      port: 9443
      targetPort: https
{{- /* With one replica a budget would keep its node from ever being drained. */}}
{{- if gt (int .Values.scheduler.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "tangram-parts.metadata" $part | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "tangram-parts.selector" $part | nindent 6 }}
{{- end }}
{{- end -}}
