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
{{- $who := printf "release %s in namespace %s (chart %s)" (index $notes "meta.helm.sh/release-name") (index $notes "meta.helm.sh/release-namespace") (index $labels "app.kubernetes.io/name") -}}
{{- $way := $ours | ternary (printf "uninstall that release first, or write %s.enabled=false" (index . 2)) "uninstall that release first, which does all that this one would" -}}
{{- printf "%s runs %s already: a node has one; %s." $who $part $way | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}
