{{/*
What refuses a part that the other of the two charts has installed already. Names would not meet, so helm says nothing;
but of two agents on a node one waits for ever, and two that label write against each other.
(list . "gpu-device" "gpuDevice")
*/}}
{{- define "tangram-parts.refuse-beside" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $ours := eq (include "tangram-parts.prefix" $root) "tangram" -}}
{{- $name := printf "%s-%s" ($ours | ternary "metax" "tangram") $part -}}
{{- $found := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" $name -}}
{{- if $found -}}
{{- $labels := $found.metadata.labels | default dict -}}
{{- $notes := $found.metadata.annotations | default dict -}}
{{- if eq (index $labels "app.kubernetes.io/component" | default "") $part -}}
{{- /* What helm rendered and others applied belongs to no release. */ -}}
{{- $release := index $notes "meta.helm.sh/release-name" | default "" -}}
{{- $whose := printf "release %s in namespace %s" $release (index $notes "meta.helm.sh/release-namespace" | default "") -}}
{{- $who := printf "%s (chart %s)" (empty $release | ternary "what was applied without helm" $whose) ($ours | ternary "metax-gpu-extensions" "tangram") -}}
{{- $first := empty $release | ternary "remove it first" "uninstall that release first" -}}
{{- $way := $ours | ternary (printf "%s, or write %s.enabled=false" $first (index . 2)) (printf "%s, which does all that this one would" $first) -}}
{{- printf "%s runs %s already: a node has one; %s." $who $part $way | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}
