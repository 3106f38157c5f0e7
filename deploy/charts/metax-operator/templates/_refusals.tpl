{{/*
What values demand of each other, and a schema cannot say. Each ends the installation with one sentence: what was read,
what is legal, what to write instead. The operator refuses the same of an object that others wrote (wire/operator/reading).
*/}}
{{- define "metax-operator.refuse" -}}
{{- include "tangram-parts.refuse" . -}}
{{- $driver := .Values.driver -}}
{{- if and (ne $driver.deployPolicy "Never") (empty $driver.payload.version) -}}
{{- printf "driver.payload.version is empty and driver.deployPolicy is %s: the driver comes from image %s, whose tag must be given; write --set driver.payload.version=TAG, or driver.deployPolicy=Never if all nodes have their driver." $driver.deployPolicy $driver.payload.name | fail -}}
{{- end -}}
{{- end -}}
