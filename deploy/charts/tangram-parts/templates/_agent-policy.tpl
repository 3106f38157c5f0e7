{{/*
What an agent may write: to its own node, to pods of that node and to its Device, and there what its code writes. Roles
cannot say any of this; the API server can, by the node that a token names, from Kubernetes 1.30 on. Only requests of the
agent's own account are looked at. A test holds the keys to those that the code writes.
*/}}
{{- define "tangram-parts.has-policies" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}yes{{ end -}}
{{- end -}}

{{- define "tangram-parts.gpu-device-policy" -}}
{{- $amounts := list "koordinator.sh/gpu-core" "koordinator.sh/gpu-memory" "koordinator.sh/gpu-memory-ratio" "koordinator.sh/gpu.shared" -}}
{{- $onNodes := dict -}}
{{- $_ := set $onNodes "annotation" (list "tangram.dev/agent" "tangram.dev/node-inventory" "metax-tech.com/node-gpu-devices" "metax-tech.com/gpu.topology.scores" "metax-tech.com/gpu.topology.losses" "metax-tech.com/gpu.topology.zones" "hami.io/mutex.lock") -}}
{{- $_ := set $onNodes "label" (list "mthreads.com/gpu.count" "mthreads.com/sgpu.cores" "node.koordinator.sh/gpu-vendor" "node.koordinator.sh/gpu-model" "node.koordinator.sh/gpu-driver-version") -}}
{{- $_ := set $onNodes "capacity" $amounts -}}
{{- $_ := set $onNodes "allocatable" $amounts -}}
{{- $_ := set $onNodes "condition" (list "GpuModeChangePending") -}}
{{- $onPods := dict "annotation" (list "hami.io/vgpu-node" "hami.io/vgpu-time" "hami.io/bind-phase" "hami.io/bind-time" "hami.io/metax-gpu-devices-to-allocate" "hami.io/metax-gpu-devices-allocated" "hami.io/metax-sgpu-devices-to-allocate" "hami.io/metax-sgpu-devices-allocated" "hami.io/mthreads-vgpu-devices-to-allocate" "hami.io/mthreads-vgpu-devices-allocated" "metax-tech.com/gpu-devices-allocated" "metax-tech.com/predicate-time" "mthreads.com/gpu-index" "mthreads.com/predicate-node" "mthreads.com/predicate-time" "scheduling.koordinator.sh/device-allocated" "scheduling.koordinator.sh/bind-timestamp" "scheduling.koordinator.sh/gpu-minors") -}}
{{- $own := printf "(request.resource.resource == 'pods' ? %s : %s)" (include "tangram-parts.words" $onPods) (include "tangram-parts.words" $onNodes) -}}
{{- $said := dict -}}
{{- $_ := set $said "place" "request.resource.resource == 'pods' ? oldObject.spec.?nodeName.orValue('') : object.metadata.name" -}}
{{- $_ := set $said "touched" (printf "request.resource.resource == 'devices' ? [] : %s + %s" (include "tangram-parts.of-metadata" .) (include "tangram-parts.of-status" .)) -}}
{{- $_ := set $said "foreign" (printf "variables.touched.filter(each, !(each in %s) && !(request.resource.resource == 'nodes' && each.matches('^label mthreads[.]com/gpu[0-9]{1,9}[.]memory$')))" $own) -}}
{{- include "tangram-parts.agent-policy" (list . "gpu-device" $said) }}
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes, nodes/status], scope: Cluster}
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods], scope: Namespaced}
      - apiGroups: [scheduling.koordinator.sh]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [devices]
        scope: Cluster
{{ include "tangram-parts.agent-policy-binding" (list . "gpu-device") }}
{{- end -}}

{{- define "tangram-parts.gpu-label-policy" -}}
{{- $own := list "metax-tech.com/gpu.driver.major" "metax-tech.com/gpu.driver.minor" "metax-tech.com/gpu.driver.patch" "metax-tech.com/gpu.family" "metax-tech.com/gpu.installed" "metax-tech.com/gpu.memory" "metax-tech.com/gpu.product" "metax-tech.com/gpu.sriov" "metax-tech.com/gpu.vfnum" "tangram.dev/mthreads.count" "tangram.dev/mthreads.driver.major" "tangram.dev/mthreads.driver.minor" "tangram.dev/mthreads.driver.patch" "tangram.dev/mthreads.driver.ready" "tangram.dev/mthreads.installed" "tangram.dev/mthreads.memory" "tangram.dev/mthreads.product" -}}
{{- if ne .Chart.Name "metax-operator" -}}
{{- /* There driver-manager writes these. */ -}}
{{- $own = concat $own (list "metax-tech.com/driver.ready" "metax-tech.com/gpu.driver.mode") | sortAlpha -}}
{{- end -}}
{{- $labels := dict "label" $own -}}
{{- $said := dict -}}
{{- $_ := set $said "place" "object.metadata.name" -}}
{{- $_ := set $said "touched" (include "tangram-parts.of-metadata" .) -}}
{{- $_ := set $said "foreign" (printf "variables.touched.filter(each, !(each in %s))" (include "tangram-parts.words" $labels)) -}}
{{- include "tangram-parts.agent-policy" (list . "gpu-label" $said) }}
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes], scope: Cluster}
{{ include "tangram-parts.agent-policy-binding" (list . "gpu-label") }}
{{- end -}}

{{/* The two that a node has under GPU Operator alone. */}}
{{- define "tangram-parts.driver-manager-policy" -}}
{{- $keys := dict -}}
{{- $_ := set $keys "annotation" (list "tangram.dev/driver.state" "tangram.dev/maca.state") -}}
{{- $_ := set $keys "label" (list "metax-tech.com/driver.ready" "metax-tech.com/gpu.driver.mode" "metax-tech.com/maca.ready") -}}
{{- $_ := set $keys "condition" (list "GpuDriverChangePending") -}}
{{- $said := dict -}}
{{- $_ := set $said "place" "object.metadata.name" -}}
{{- $_ := set $said "touched" (printf "%s + %s" (include "tangram-parts.of-metadata" .) (include "tangram-parts.of-status" .)) -}}
{{- $_ := set $said "foreign" (printf "variables.touched.filter(each, !(each in %s))" (include "tangram-parts.words" $keys)) -}}
{{- include "tangram-parts.agent-policy" (list . "driver-manager" $said) }}
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes, nodes/status], scope: Cluster}
{{ include "tangram-parts.agent-policy-binding" (list . "driver-manager") }}
{{- end -}}

{{- define "tangram-parts.container-runtime-policy" -}}
{{- $keys := dict "annotation" (list "tangram.dev/runtime.state") "label" (list "metax-tech.com/runtime.ready") -}}
{{- $said := dict -}}
{{- $_ := set $said "place" "object.metadata.name" -}}
{{- $_ := set $said "touched" (include "tangram-parts.of-metadata" .) -}}
{{- $_ := set $said "foreign" (printf "variables.touched.filter(each, !(each in %s))" (include "tangram-parts.words" $keys)) -}}
{{- include "tangram-parts.agent-policy" (list . "container-runtime" $said) }}
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes], scope: Cluster}
{{ include "tangram-parts.agent-policy-binding" (list . "container-runtime") }}
{{- end -}}

{{/* What all have: (list . "gpu-label" $expressions). It ends where each says which requests it is about. */}}
{{- define "tangram-parts.agent-policy" -}}
{{- $root := index . 0 -}}
{{- $said := index . 2 -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{- include "tangram-parts.cluster-metadata" . | nindent 2 }}
spec:
  failurePolicy: Fail
  matchConditions:
    - name: its-account
      expression: request.userInfo.username == {{ printf "system:serviceaccount:%s:%s" $root.Release.Namespace (include "tangram-parts.name" .) | quote }}
  variables:
    - name: node
      expression: request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([]).join(' ')
    - name: place
      expression: {{ $said.place | quote }}
    # Everything of the object that is another than before, each by what it is called.
    - name: touched
      expression: {{ $said.touched | quote }}
    - name: foreign
      expression: {{ $said.foreign | quote }}
  validations:
    - expression: variables.place != '' && variables.place == variables.node
      reason: Forbidden
      message: an agent writes to its own node, to pods that are bound to it and to its Device, alone.
      messageExpression: >-
        request.userInfo.username + ' writes ' + request.kind.kind + ' ' + object.metadata.name +
        (variables.place == object.metadata.name ? '' : variables.place == '' ? ' of no node' : ' of node ' +
        variables.place) + ' with a token of ' + (variables.node == '' ? 'no node' : 'node ' + variables.node) +
        '; an agent writes to its own node, to pods that are bound to it and to its Device, alone; ' +
        (variables.node == '' ? 'run it as a pod, whose token names its node' : 'leave it to the agent there') + '.'
    - expression: variables.foreign.size() == 0
      reason: Forbidden
      message: an agent writes what it knows of cards and nothing else.
      messageExpression: >-
        request.userInfo.username + ' writes ' + variables.foreign.join(', ') + ' of ' + request.kind.kind + ' ' +
        object.metadata.name + '; an agent writes what it knows of cards and nothing else; leave it as it is.'
  matchConstraints:
    matchPolicy: Equivalent
{{- end -}}

{{- define "tangram-parts.agent-policy-binding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{- include "tangram-parts.cluster-metadata" . | nindent 2 }}
spec:
  policyName: {{ include "tangram-parts.name" . }}
  validationActions: [Deny]
{{- end -}}

{{/* A list of CEL from keys by their kind, as in "label a", "annotation b". */}}
{{- define "tangram-parts.words" -}}
{{- $keys := . -}}
{{- $words := list -}}
{{- range $kind := list "annotation" "label" "capacity" "allocatable" "condition" -}}
{{- range (hasKey $keys $kind | ternary (get $keys $kind) list) -}}
{{- $words = append $words (printf "%s %s" $kind . | quote) -}}
{{- end -}}
{{- end -}}
[{{ join ", " $words }}]
{{- end -}}

{{- define "tangram-parts.of-metadata" -}}
{{- list (include "tangram-parts.of-map" (list "label" "metadata.?labels")) (include "tangram-parts.of-map" (list "annotation" "metadata.?annotations")) (include "tangram-parts.of-field" "metadata.?finalizers") (include "tangram-parts.of-field" "metadata.?ownerReferences") (include "tangram-parts.of-field" "spec") | join " + " -}}
{{- end -}}

{{- define "tangram-parts.of-status" -}}
{{- list (include "tangram-parts.of-map" (list "capacity" "?status.?capacity")) (include "tangram-parts.of-map" (list "allocatable" "?status.?allocatable")) (include "tangram-parts.of-conditions" .) (include "tangram-parts.of-field" "?status.?addresses") (include "tangram-parts.of-field" "?status.?daemonEndpoints") | join " + " -}}
{{- end -}}

{{/* Keys of a map that were added, changed or removed: (list "label" "metadata.?labels"). */}}
{{- define "tangram-parts.of-map" -}}
{{- $now := printf "object.%s.orValue({})" (index . 1) -}}
{{- $before := printf "oldObject.%s.orValue({})" (index . 1) -}}
{{- $named := printf ".map(key, '%s ' + key)" (index . 0) -}}
{{- printf "%s.filter(key, %s[?key] != %s[?key])%s + %s.filter(key, !(key in %s))%s" $now $now $before $named $before $now $named -}}
{{- end -}}

{{- define "tangram-parts.of-conditions" -}}
{{- $now := "object.?status.?conditions.orValue([])" -}}
{{- $before := "oldObject.?status.?conditions.orValue([])" -}}
{{- $named := ".map(each, 'condition ' + each.type)" -}}
{{- printf "%s.filter(each, !(each in %s))%s + %s.filter(each, !%s.exists(other, other.type == each.type))%s" $now $before $named $before $now $named -}}
{{- end -}}

{{- define "tangram-parts.of-field" -}}
{{- printf "(object.%s == oldObject.%s ? [] : ['%s'])" . . (regexReplaceAll "^.*[.]" . "" | trimPrefix "?") -}}
{{- end -}}
