{{/*
What the templates of the scheduler share. Its objects are called tangram-scheduler in every release: pods name the
scheduler, the API server calls its Service, and people look for it.
*/}}

{{/* Everything that it is made of. It wants values as those of chart tangram are; chart metax-operator hands it its own. */}}
{{- define "tangram.scheduler-objects" -}}
{{- $root := . -}}
{{- range list "account" "rights" "configuration" "certificate" "service" "deployment" "admission" "trust" }}
---
{{ include (printf "tangram.scheduler-%s" .) $root }}
{{- end }}
{{- end -}}

{{/* The names by which pods ask for it, as JSON {names: [...]}: its own first, which pods get that name none. Every one
is a profile of the kube-scheduler beside it and a name that tangram answers to; one without the other leaves pods
waiting for nobody. */}}
{{- define "tangram.scheduler-names" -}}
{{- $names := list .Values.scheduler.name -}}
{{- $peers := include "tangram.peers" . | fromJson -}}
{{- with .Values.scheduler.profiles -}}
{{- if and (ne (toString .hami) "false") (not $peers.hami) -}}{{- $names = append $names "hami-scheduler" -}}{{- end -}}
{{- if and (ne (toString .koordinator) "false") (not $peers.koordinator) -}}
{{- $names = append $names "koord-scheduler" -}}
{{- end -}}
{{- end -}}
{{- dict "names" (concat $names (.Values.scheduler.config.schedulerNames | default list) | uniq) | toJson -}}
{{- end -}}

{{/* The user name of an account of this release: (list . "scheduler"). */}}
{{- define "tangram.account" -}}
{{- $root := index . 0 -}}
system:serviceaccount:{{ $root.Release.Namespace }}:{{ include "tangram-parts.name" . }}
{{- end -}}

{{/* Who may say which cards a pod holds, as JSON. `peers` may everywhere, like the scheduler itself; `agents` each on
the pods of its own node. A scheduler of others that runs in the cluster is trusted for as long as it does: it places
pods already, and without this the first of them after the installation would be refused. Before Kubernetes 1.30 tokens
do not name their node, so our own agent, which writes what it has given, is trusted everywhere. */}}
{{- define "tangram.trusted" -}}
{{- $peers := concat (.Values.scheduler.config.trustedAccounts | default list) .Values.scheduler.trustedAccounts -}}
{{- range $found := include "tangram.peers" . | fromJson -}}
{{- range $found -}}{{- $peers = append $peers .account -}}{{- end -}}
{{- end -}}
{{- /* Under GPU Operator the agent is the operator's, and called otherwise. */ -}}
{{- $agent := .Agent | default (include "tangram.account" (list . "gpu-device")) -}}
{{- $agents := .Values.gpuDevice.enabled | ternary (list $agent) list -}}
{{- if not (include "tangram.has-conditions" .) -}}{{- $peers = concat $peers $agents -}}{{- end -}}
{{- dict "peers" (uniq $peers) "agents" (concat $agents .Values.scheduler.trustedAgentAccounts | uniq) | toJson -}}
{{- end -}}

{{/* Its own file (docs/scheduler-config.md): what was given, and the names and accounts that follow from the rest. */}}
{{- define "tangram.scheduler.yaml" -}}
{{- $file := merge (dict) .Values.scheduler.config -}}
{{- $_ := set $file "schedulerNames" (include "tangram.scheduler-names" . | fromJson).names -}}
{{- $vendors := (include "tangram-parts.vendors" . | fromJson).vendors -}}
{{- if ne (len $vendors) 2 -}}{{- $_ := set $file "vendors" $vendors -}}{{- end -}}
{{- with (include "tangram.trusted" . | fromJson).peers -}}{{- $_ := set $file "trustedAccounts" . -}}{{- end -}}
{{- toYaml $file -}}
{{- end -}}

{{/* The Secret with the certificate of the Service. The scheduler's own and cert-manager's are kept in the same one, so
that changing from one to the other leaves nothing behind. */}}
{{- define "tangram.certificate-secret" -}}
{{- eq .Values.certificates.source "secret" | ternary .Values.certificates.secretName "tangram-scheduler-tls" -}}
{{- end -}}

{{- define "tangram.scheduler-log" -}}
{{- $own := .Values.scheduler.log | default dict -}}
# Standard error alone: nothing on its node is the scheduler's to write.
- --log-dir
- ""
- --log-level
- {{ $own.level | default .Values.log.level | quote }}
- --log-format
- {{ $own.format | default .Values.log.format | quote }}
{{- end -}}

{{/* What the strictest Pod Security level asks for; both programs need no more. */}}
{{- define "tangram.restricted" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Where the API server asks only about pods that name a card: matchConditions are on for everybody since Kubernetes
1.30, and so are policies that it enforces by itself. */}}
{{- define "tangram.has-conditions" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}yes{{ end -}}
{{- end -}}
