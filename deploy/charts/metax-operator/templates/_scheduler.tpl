{{/* Whether this release brings the scheduler: it says yes, or nothing. */}}
{{- define "metax-operator.has-scheduler" -}}
{{- if and .Values.gpuScheduler.deploy (has .Values.gpuScheduler.namespace (list "" .Release.Namespace)) }}yes{{ end -}}
{{- end -}}

{{/* Two would answer to one name and place the same pods. */}}
{{- define "metax-operator.refuse-second-scheduler" -}}
{{- $found := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "tangram-scheduler" -}}
{{- if $found -}}
{{- $notes := $found.metadata.annotations | default dict -}}
{{- $release := index $notes "meta.helm.sh/release-name" | default "" -}}
{{- $home := index $notes "meta.helm.sh/release-namespace" | default "" -}}
{{- if ne (printf "%s/%s" $home $release) (printf "%s/%s" .Release.Namespace .Release.Name) -}}
{{- $whose := printf "release %s in namespace %s" $release $home -}}
{{- $where := empty $release | ternary "NAMESPACE" $home -}}
{{- printf "%s runs tangram-scheduler already: a cluster has one; write gpuScheduler.namespace=%s to have that one counted among what must be ready, or remove it first." (empty $release | ternary "what was applied without helm" $whose) $where | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}
