{{/*
Whose cards this release serves, as JSON {vendors: [...]}. HAMi's documents switch a vendor by `devices` and by `device`,
sometimes both in one page, so either spelling switches it off. Charts without such options serve all.
*/}}
{{- define "tangram-parts.vendors" -}}
{{- $values := .Values -}}
{{- $vendors := list -}}
{{- range $vendor := list "metax" "mthreads" -}}
{{- $on := true -}}
{{- range $spelling := list "devices" "device" -}}
{{- $said := index (index $values $spelling | default dict) $vendor | default dict -}}
{{- if and (hasKey $said "enabled") (not $said.enabled) -}}{{- $on = false -}}{{- end -}}
{{- end -}}
{{- if $on -}}{{- $vendors = append $vendors $vendor -}}{{- end -}}
{{- end -}}
{{- dict "vendors" $vendors | toJson -}}
{{- end -}}

{{/* The option of an agent, where it is not the usual one. */}}
{{- define "tangram-parts.vendor-arguments" -}}
{{- $vendors := (include "tangram-parts.vendors" . | fromJson).vendors -}}
{{- if ne (len $vendors) 2 -}}
- --vendors
- {{ join "," $vendors | quote }}
{{- end -}}
{{- end -}}
