{{/*
Who may say which cards a pod holds: the scheduler, and an agent on the pods of its own node. The API server enforces it
by itself, so it holds while no scheduler runs. A test holds keys, accounts and words to those of the webhook.
*/}}
{{- define "tangram.scheduler-trust" -}}
{{- if include "tangram.has-conditions" . }}
{{- $part := list . "scheduler" }}
{{- $trusted := include "tangram.trusted" . | fromJson }}
{{- $everywhere := prepend $trusted.peers (include "tangram.account" $part) }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: tangram-allocations
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules: {{- include "tangram.guarded-requests" . | nindent 6 }}
  variables:
    - name: touched
      expression: >-
        ["hami.io/vgpu-node", "hami.io/vgpu-time", "hami.io/bind-phase", "hami.io/bind-time",
        "hami.io/metax-gpu-devices-to-allocate", "hami.io/metax-gpu-devices-allocated",
        "hami.io/metax-sgpu-devices-to-allocate", "hami.io/metax-sgpu-devices-allocated",
        "hami.io/mthreads-vgpu-devices-to-allocate", "hami.io/mthreads-vgpu-devices-allocated",
        "metax-tech.com/gpu-devices-allocated", "metax-tech.com/predicate-time", "mthreads.com/gpu-index",
        "mthreads.com/predicate-node", "mthreads.com/predicate-time", "scheduling.koordinator.sh/device-allocated",
        "scheduling.koordinator.sh/bind-timestamp", "scheduling.koordinator.sh/gpu-minors"].filter(key,
        object.metadata.?annotations.orValue({})[?key] != (oldObject == null ? {} :
        oldObject.metadata.?annotations.orValue({}))[?key]).map(key, 'annotation ' + key) +
        ["hami.io/vgpu-node"].filter(key, object.metadata.?labels.orValue({})[?key] != (oldObject == null ? {} :
        oldObject.metadata.?labels.orValue({}))[?key]).map(key, 'label ' + key)
    - name: trusted
      expression: >-
        request.userInfo.username in {{ include "tangram.texts" $everywhere }} ||
        (request.userInfo.username in {{ include "tangram.texts" $trusted.agents }} &&
        request.operation == 'UPDATE' && oldObject != null && oldObject.spec.?nodeName.orValue('') != '' &&
        request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([]) ==
        [oldObject.spec.?nodeName.orValue('')])
  validations:
    - expression: variables.touched.size() == 0 || variables.trusted
      reason: Forbidden
      message: >-
        what says which cards a pod holds is written by its scheduler, and by the agent of its node, alone.
      messageExpression: >-
        request.userInfo.username + ' writes ' + variables.touched.join(', ') + '; what says which cards a pod holds is
        written by its scheduler, and by the agent of its node, alone; ' + (request.operation == 'UPDATE' ? 'leave it
        as it is' : request.resource.resource == 'bindings' || request.?subResource.orValue('') == 'binding' ? 'bind
        without it' : 'remove it from the manifest, or from the pod template that the pod is made from') + '.'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: tangram-allocations
  labels: {{- include "tangram-parts.labels" $part | nindent 4 }}
spec:
  policyName: tangram-allocations
  validationActions: [Deny]
{{- end }}
{{- end -}}
