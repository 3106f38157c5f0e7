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
{{- /* Options of MetaX's own chart that driver-manager refuses too: they would be a promise that nobody keeps. */ -}}
{{- $byHand := "update the firmware by hand (mx-smi -u, see MetaX's guide)" -}}
{{- if ne $driver.fwUpgradePolicy "Never" -}}
{{- printf "driver.fwUpgradePolicy is %s: there is no public interface by which the firmware of a card could be written; %s, and write Never." $driver.fwUpgradePolicy $byHand | fail -}}
{{- end -}}
{{- if $driver.fwEnableVirt -}}
{{- printf "driver.fwEnableVirt is true: there is no public interface by which virtualization could be switched on in firmware; %s, and write false." $byHand | fail -}}
{{- end -}}
{{- if $driver.deviceAsRootGroup -}}
{{- fail "driver.deviceAsRootGroup is true: who owns the device nodes of a host is decided by its udev rules, which would undo it; write such a rule on the hosts, and false here." -}}
{{- end -}}
{{- end -}}
