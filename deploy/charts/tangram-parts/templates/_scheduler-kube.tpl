{{/*
The configuration of a kube-scheduler that asks tangram about pods with cards: docs/scheduler-config.md says which fields
matter. `tangram scheduler --print-kube-scheduler-config` prints the same, and a test compares.
*/}}

{{/* What the cluster calls our resources, as JSON: {usual name: its own name}. HAMi's device-config.yaml renames them. */}}
{{- define "tangram.own-names" -}}
{{- $file := .Values.scheduler.deviceConfig | default dict -}}
{{- $metax := $file.metax | default dict -}}
{{- $mthreads := $file.mthreads | default dict -}}
{{- $names := dict -}}
{{- $_ := set $names "metax-tech.com/gpu" ($metax.resourceCountName | default "metax-tech.com/gpu") -}}
{{- $_ := set $names "metax-tech.com/sgpu" ($metax.resourceVCountName | default "metax-tech.com/sgpu") -}}
{{- $_ := set $names "metax-tech.com/vcore" ($metax.resourceVCoreName | default "metax-tech.com/vcore") -}}
{{- $_ := set $names "metax-tech.com/vmemory" ($metax.resourceVMemoryName | default "metax-tech.com/vmemory") -}}
{{- $_ := set $names "mthreads.com/sgpu-core" ($mthreads.resourceCoreName | default "mthreads.com/sgpu-core") -}}
{{- $_ := set $names "mthreads.com/sgpu-memory" ($mthreads.resourceMemoryName | default "mthreads.com/sgpu-memory") -}}
{{- $_ := set $names "mthreads.com/vgpu" ($mthreads.resourceCountName | default "mthreads.com/vgpu") -}}
{{- $names | toJson -}}
{{- end -}}

{{/* Every resource that brings a pod to tangram, as JSON {names: [...]} in this cluster's names, those that nodes
announce first. */}}
{{- define "tangram.announced" -}}
{{- $own := include "tangram.own-names" . | fromJson -}}
{{- $vendors := (include "tangram-parts.vendors" . | fromJson).vendors -}}
{{- $names := list -}}
{{- if has "metax" $vendors -}}
{{- $names = list (index $own "metax-tech.com/gpu") (index $own "metax-tech.com/sgpu") -}}
{{- end -}}
{{- if has "mthreads" $vendors -}}
{{- $names = concat $names (list "mthreads.com/gpu" (index $own "mthreads.com/sgpu-core") (index $own "mthreads.com/sgpu-memory")) -}}
{{- end -}}
{{- dict "names" $names | toJson -}}
{{- end -}}

{{- define "tangram.never-announced" -}}
{{- $own := include "tangram.own-names" . | fromJson -}}
{{- $vendors := (include "tangram-parts.vendors" . | fromJson).vendors -}}
{{- $names := list -}}
{{- if has "metax" $vendors -}}
{{- $names = list (index $own "metax-tech.com/vcore") (index $own "metax-tech.com/vmemory") -}}
{{- end -}}
{{- $koordinator := list "gpu" "gpu-core" "gpu-memory" "gpu-memory-ratio" "gpu.shared" -}}
{{- if has "mthreads" $vendors -}}{{- $names = append $names (index $own "mthreads.com/vgpu") -}}{{- end -}}
{{- range $koordinator -}}{{- $names = append $names (printf "koordinator.sh/%s" .) -}}{{- end -}}
{{- dict "names" $names | toJson -}}
{{- end -}}

{{/* The fields of our extender that are the same wherever it is called from. */}}
{{- define "tangram.extender" -}}
filterVerb: filter
bindVerb: bind
preemptVerb: preempt
weight: 1
httpTimeout: 30s
nodeCacheCapable: true
ignorable: false
managedResources:
  {{- range (include "tangram.announced" . | fromJson).names }}
  - {name: {{ . | quote }}, ignoredByScheduler: false}
  {{- end }}
  {{- range (include "tangram.never-announced" . | fromJson).names }}
  - {name: {{ . | quote }}, ignoredByScheduler: true}
  {{- end }}
{{- end -}}

{{/* Profiles, all of which look at every node. Before Kubernetes 1.26 that is said once for all of them. */}}
{{- define "tangram.profiles" -}}
{{- $each := semverCompare ">=1.26.0-0" .Capabilities.KubeVersion.Version -}}
{{- if not $each }}
percentageOfNodesToScore: 100
{{- end }}
profiles:
  {{- range (include "tangram.scheduler-names" . | fromJson).names }}
  - schedulerName: {{ . | quote }}
    {{- if $each }}
    percentageOfNodesToScore: 100
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "tangram.kube-scheduler.yaml" -}}
apiVersion: kubescheduler.config.k8s.io/{{ semverCompare ">=1.25.0-0" .Capabilities.KubeVersion.Version | ternary "v1" "v1beta3" }}
kind: KubeSchedulerConfiguration
clientConnection:
  qps: 500
  burst: 1000
# Which of the replicas is active. The tangram beside it follows this Lease and has no election of its own.
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceNamespace: {{ .Release.Namespace | quote }}
  resourceName: tangram-scheduler
{{- include "tangram.profiles" . }}
extenders:
  - urlPrefix: http://127.0.0.1:8080
    {{- include "tangram.extender" . | nindent 4 }}
{{- end -}}
