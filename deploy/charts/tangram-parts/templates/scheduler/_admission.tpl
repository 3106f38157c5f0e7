{{/*
The API server asks the scheduler about new pods with cards. docs/scheduler-install.md says why each field is as it is,
and its objects are compared with these.

With its own certificate no caBundle stands here: the scheduler writes it, and helm leaves a field alone that its chart
never named.
*/}}
{{- define "tangram.scheduler-admission" -}}
{{- $part := list . "scheduler" }}
{{- $hook := .Values.scheduler.webhook }}
{{- $conditions := include "tangram.has-conditions" . }}
{{- $policy := $hook.failurePolicy }}
{{- if eq $policy "auto" }}{{ $policy = eq $conditions "yes" | ternary "Fail" "Ignore" }}{{ end }}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
  {{- include "tangram.inject-authority" . | nindent 2 }}
webhooks:
  - name: pods.tangram.dev
    clientConfig: {{- include "tangram.client-config" (list . "/webhook") | nindent 6 }}
    rules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}
    namespaceSelector:
      matchExpressions:
        # Nothing that the cluster or the scheduler itself needs may wait for a webhook.
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values: {{ concat (list "kube-system" .Release.Namespace) $hook.ignoreNamespaces | uniq | toJson }}
        - {key: hami.io/webhook, operator: NotIn, values: [ignore]}
    objectSelector:
      matchExpressions:
        - {key: hami.io/webhook, operator: NotIn, values: [ignore]}
    {{- if $conditions }}
    {{- $names := concat (include "tangram.announced" . | fromJson).names (include "tangram.never-announced" . | fromJson).names }}
    {{- range $usual, $own := include "tangram.own-names" . | fromJson }}
    {{- /* A usual name that means nothing here is refused by the webhook, so it has to be asked about that too. */}}
    {{- $vendor := regexMatch "^metax-tech[.]com/" $usual | ternary "metax" "mthreads" }}
    {{- if has $vendor (include "tangram-parts.vendors" $ | fromJson).vendors }}{{ $names = append $names $usual }}{{ end }}
    {{- end }}
    matchConditions:
      - name: asks-for-cards
        expression: >-
          (object.spec.containers + object.spec.?initContainers.orValue([])).exists(container,
          [container.?resources.?limits.orValue({}), container.?resources.?requests.orValue({})].exists(amounts,
          amounts.exists(name, name in
          {{ $names | uniq | sortAlpha | toJson }})))
    {{- end }}
    failurePolicy: {{ $policy }}
    matchPolicy: Equivalent
    reinvocationPolicy: IfNeeded
    sideEffects: None
    timeoutSeconds: 5
    admissionReviewVersions: [v1]
{{- if not $conditions }}
---
# Who may say which cards a pod holds, where the API server has no policies that it enforces by itself. It is asked about
# every write of every pod, so an outage must not stop them.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  {{- include "tangram-parts.cluster-metadata" $part | nindent 2 }}
  {{- include "tangram.inject-authority" . | nindent 2 }}
webhooks:
  - name: allocations.tangram.dev
    clientConfig: {{- include "tangram.client-config" (list . "/guard") | nindent 6 }}
    rules: {{- include "tangram.guarded-requests" . | nindent 6 }}
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values: {{ list "kube-system" .Release.Namespace | uniq | toJson }}
    failurePolicy: Ignore
    matchPolicy: Equivalent
    sideEffects: None
    timeoutSeconds: 2
    admissionReviewVersions: [v1]
{{- end }}
{{- end -}}
