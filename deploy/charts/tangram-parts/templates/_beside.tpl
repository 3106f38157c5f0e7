{{/*
What refuses a part that another of the charts has installed already. Where their names do not meet, helm says nothing,
and where they do it speaks of ownership; but of two agents on a node one waits for ever, and two that label write against
each other.
(list . "gpu-device" "gpuDevice")
*/}}
{{- define "tangram-parts.refuse-beside" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $option := index . 2 -}}
{{- $ours := $root.Chart.Name -}}
{{- range $prefix := list "tangram" "metax" -}}
{{- $found := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" (printf "%s-%s" $prefix $part) -}}
{{- if $found -}}
{{- $labels := $found.metadata.labels | default dict -}}
{{- $notes := $found.metadata.annotations | default dict -}}
{{- $chart := index $labels "app.kubernetes.io/name" | default "" -}}
{{- if and (eq (index $labels "app.kubernetes.io/component" | default "") $part) (has $chart (list "tangram" "metax-gpu-extensions" "metax-operator")) (ne $chart $ours) -}}
{{- /* What helm rendered and others applied belongs to no release. */ -}}
{{- $release := index $notes "meta.helm.sh/release-name" | default "" -}}
{{- $whose := printf "release %s in namespace %s" $release (index $notes "meta.helm.sh/release-namespace" | default "") -}}
{{- $who := printf "%s (chart %s)" (empty $release | ternary "what was applied without helm" $whose) $chart -}}
{{- $first := empty $release | ternary "remove it first" "uninstall that release first" -}}
{{- $way := $first -}}
{{- if eq $ours "tangram" -}}
{{- $way = printf "%s, or write %s.enabled=false" $first $option -}}
{{- else if eq $ours "metax-gpu-extensions" -}}
{{- $way = printf "%s, which does all that this one would" $first -}}
{{- else if eq $chart "tangram" -}}
{{- $way = printf "%s, or upgrade it with gpuDevice.enabled=false and gpuLabel.enabled=false" $first -}}
{{- end -}}
{{- printf "%s runs %s already: a node has one; %s." $who $part $way | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
