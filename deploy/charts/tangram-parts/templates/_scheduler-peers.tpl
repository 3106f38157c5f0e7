{{/*
Schedulers of others that run in this cluster, as JSON: {hami: [{name, account}], koordinator: [...]}.

Two schedulers that answer to one name place the same pods, so a name is taken only where nobody else serves it. A
program is known by what runs, as `tangram doctor --cluster` knows it: its command, its image or its container's name.
Tenants can make a Deployment called anything; what they cannot give themselves is the right to bind pods in the whole
cluster, which a scheduler needs. One without replicas places nothing. Ours is never found, because none of its containers is called so.

Without a cluster to ask, as in `helm template`, nobody is found.
*/}}
{{- define "tangram.peers" -}}
{{- /* Asked once for a rendering: several templates want to know, and in a large cluster the lists are long. */ -}}
{{- if not (hasKey .Values "foundPeers") -}}
{{- $_ := set .Values "foundPeers" (include "tangram.look-for-peers" .) -}}
{{- end -}}
{{- .Values.foundPeers -}}
{{- end -}}

{{- define "tangram.look-for-peers" -}}
{{- $parts := dict "vgpu-scheduler-extender" "hami" "hami-scheduler" "hami" "koord-scheduler" "koordinator" -}}
{{- $found := dict "hami" list "koordinator" list -}}
{{- $bound := dict -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items -}}
{{- $role := .roleRef.name -}}
{{- range .subjects -}}
{{- if eq .kind "ServiceAccount" -}}
{{- $account := printf "%s:%s" .namespace .name -}}
{{- $_ := set $bound $account (append (index $bound $account | default list) $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range (lookup "apps/v1" "Deployment" "" "").items -}}
{{- $pod := .spec.template.spec -}}
{{- $account := printf "%s:%s" .metadata.namespace ($pod.serviceAccountName | default "default") -}}
{{- $part := "" -}}
{{- range $pod.containers -}}
{{- $image := regexReplaceAll "[:@].*$" (base .image) "" -}}
{{- $program := base (first (.command | default (list ""))) -}}
{{- range list $program $image .name -}}{{- $part = $part | default (index $parts .) -}}{{- end -}}
{{- end -}}
{{- $binds := "" -}}
{{- if $part -}}
{{- range index $bound $account -}}{{- $binds = $binds | default (include "tangram.may-bind" .) -}}{{- end -}}
{{- end -}}
{{- if and $binds (ne (int .spec.replicas) 0) -}}
{{- $name := printf "%s/%s" .metadata.namespace .metadata.name -}}
{{- $one := dict "name" $name "account" (printf "system:serviceaccount:%s" $account) -}}
{{- $_ := set $found $part (append (index $found $part) $one) -}}
{{- end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{/* Whether the ClusterRole of that name lets its accounts bind pods: it says yes, or nothing. */}}
{{- define "tangram.may-bind" -}}
{{- $may := "" -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" .).rules -}}
{{- $resources := .resources | default list -}}
{{- if or (has "create" .verbs) (has "*" .verbs) -}}
{{- if or (has "pods/binding" $resources) (has "*/binding" $resources) (has "*" $resources) -}}{{- $may = "yes" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $may -}}
{{- end -}}
