{{/*
What webhooks and the policy share.
*/}}

{{/* How the API server reaches the scheduler: (list . "/webhook"). */}}
{{- define "tangram.client-config" -}}
{{- $root := index . 0 -}}
service:
  name: {{ include "tangram-parts.name" (list $root "scheduler") }}
  namespace: {{ $root.Release.Namespace | quote }}
  path: {{ index . 1 }}
  port: 9443
{{- if eq $root.Values.certificates.source "secret" }}
caBundle: {{ include "tangram.ca-bundle" $root }}
{{- end }}
{{- end -}}

{{/* Asks cert-manager to write the caBundle, where it makes the certificate. */}}
{{- define "tangram.inject-authority" -}}
{{- if eq .Values.certificates.source "cert-manager" -}}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "tangram-parts.name" (list . "scheduler") }}
{{- end -}}
{{- end -}}

{{/* Every way to write an annotation of a pod, and no more. */}}
{{- define "tangram.guarded-requests" -}}
- {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods], scope: Namespaced}
- {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods/status], scope: Namespaced}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE]
  resources: [pods/binding, bindings]
  scope: Namespaced
{{- end -}}

{{/* A list of texts as CEL writes it. */}}
{{- define "tangram.texts" -}}
{{- $quoted := list -}}
{{- range . -}}{{- $quoted = append $quoted (toJson .) -}}{{- end -}}
[{{ join ", " $quoted }}]
{{- end -}}
