{{/*
What a schema cannot say about the options of the parts. Each ends the installation with one sentence: what was read, what
is legal, what to write instead.
*/}}
{{- define "tangram-parts.refuse" -}}
{{- include "tangram-parts.refuse-weights" . -}}
{{- include "tangram-parts.refuse-device-config" . -}}
{{- include "tangram-parts.refuse-vendors" . -}}
{{- end -}}

{{- define "tangram-parts.refuse-vendors" -}}
{{- $vendors := (include "tangram-parts.vendors" . | fromJson).vendors -}}
{{- if not $vendors -}}
{{- fail "devices.metax.enabled and devices.mthreads.enabled are both false: nothing would be served then; leave one of them out." -}}
{{- end -}}
{{- if and .Values.deployExtenderGPUAware (not (has "metax" $vendors)) -}}
{{- fail "deployExtenderGPUAware is true and devices.metax.enabled is false: gpu-aware weighs the cards of MetaX alone; leave one of the two out." -}}
{{- end -}}
{{- end -}}

{{/* A number, as --set makes one of 0.0000001, has no text form that a schema could look at. */}}
{{- define "tangram-parts.refuse-weights" -}}
{{- range $key := list "scoreWeight" "lossWeight" -}}
{{- $written := get $.Values.gpuAware $key | toString -}}
{{- if not (regexMatch "^[0-9]{1,6}(\\.[0-9]{1,6})?$" $written) -}}
{{- printf "gpuAware.%s is %s: it is a number from 0 to 999999 with at most six decimals; write for example 1.0." $key $written | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the agents would refuse a minute later, on every node at once. */}}
{{- define "tangram-parts.refuse-device-config" -}}
{{- with .Values.gpuDevice.deviceConfig -}}
{{- range $key, $value := . -}}
{{- if not (has $key (list "version" "cluster-config" "nodes-config")) -}}
{{- printf "gpuDevice.deviceConfig has %s: its keys are version, cluster-config and nodes-config; write for example {version: v1, cluster-config: {mode: sgpu}} (docs/device-config.md)." $key | fail -}}
{{- end -}}
{{- end -}}
{{- if ne (toString .version) "v1" -}}
{{- printf "gpuDevice.deviceConfig.version is %s: v1 is the only one there is; write version: v1." (hasKey . "version" | ternary (toString .version) "missing") | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}
