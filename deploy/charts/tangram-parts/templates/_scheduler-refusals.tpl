{{/*
What values demand of each other and of the cluster, and a schema cannot say. Each ends the installation with one
sentence: what was read, what is legal, what to write instead.
*/}}
{{- define "tangram.refuse" -}}
{{- include "tangram.refuse-profiles" . -}}
{{- include "tangram.refuse-accounts" . -}}
{{- include "tangram.refuse-names" . -}}
{{- include "tangram.refuse-calling" . -}}
{{- include "tangram.refuse-certificates" . -}}
{{- include "tangram.refuse-two-tags" . -}}
{{- end -}}

{{/* HAMi's spelling of the tag stands beside ours. */}}
{{- define "tangram.refuse-two-tags" -}}
{{- $kube := .Values.scheduler.kubeScheduler -}}
{{- if and $kube.imageTag $kube.image.tag (ne $kube.imageTag $kube.image.tag) -}}
{{- printf "scheduler.kubeScheduler.imageTag is %s and scheduler.kubeScheduler.image.tag is %s: they are two spellings of one option; leave one of them out." $kube.imageTag $kube.image.tag | fail -}}
{{- end -}}
{{- end -}}

{{/* A name is asked for in three places, and whichever it was, nobody else may serve it. */}}
{{- define "tangram.refuse-profiles" -}}
{{- $scheduler := .Values.scheduler -}}
{{- $served := dict "hami" "hami-scheduler" "koordinator" "koord-scheduler" -}}
{{- range $profile, $found := include "tangram.peers" . | fromJson -}}
{{- $name := index $served $profile -}}
{{- $asked := "" -}}
{{- $instead := "write another name" -}}
{{- if eq (toString (index $scheduler.profiles $profile)) "true" -}}
{{- $asked = printf "scheduler.profiles.%s is true" $profile -}}
{{- $instead = "write auto" -}}
{{- else if eq $scheduler.name $name -}}
{{- $asked = printf "scheduler.name is %s" $name -}}
{{- else if has $name ($scheduler.config.schedulerNames | default list) -}}
{{- $asked = printf "scheduler.config.schedulerNames has %s" $name -}}
{{- end -}}
{{- if and $found $asked -}}
{{- printf "%s, and %s serves that name already: two schedulers would place the same pods; %s, or stop the other one first." $asked (first $found).name $instead | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tangram.refuse-accounts" -}}
{{- $peers := (include "tangram.trusted" . | fromJson).peers -}}
{{- if gt (len $peers) 16 -}}
{{- printf "scheduler.trustedAccounts, scheduler.config.trustedAccounts and the schedulers that run here are %d accounts together: at most 16 are trusted; leave some out." (len $peers) | fail -}}
{{- end -}}
{{- $names := (include "tangram.scheduler-names" . | fromJson).names -}}
{{- if gt (len $names) 16 -}}
{{- printf "scheduler.name, scheduler.profiles and scheduler.config.schedulerNames are %d names together: at most 16 are served; leave some out." (len $names) | fail -}}
{{- end -}}
{{- end -}}

{{/* As the scheduler itself reads HAMi's file: it would not start with what is refused here. */}}
{{- define "tangram.refuse-names" -}}
{{- $file := .Values.scheduler.deviceConfig -}}
{{- if $file -}}
{{- $says := false -}}
{{- range $vendor, $section := $file -}}{{- if $section -}}{{- $says = true -}}{{- end -}}{{- end -}}
{{- if not $says -}}
{{- fail "scheduler.deviceConfig: all configurations are empty: at least one vendor's section says something; write what HAMi's device-config.yaml has, or leave scheduler.deviceConfig out." -}}
{{- end -}}
{{- $taken := dict "mthreads.com/gpu" "one that is always called so" -}}
{{- range list "gpu" "gpu-core" "gpu-memory" "gpu-memory-ratio" "gpu.shared" -}}
{{- $_ := set $taken (printf "koordinator.sh/%s" .) "one that is always called so" -}}
{{- end -}}
{{- range $usual, $own := include "tangram.own-names" . | fromJson -}}
{{- if hasKey $taken $own -}}
{{- printf "scheduler.deviceConfig calls two resources %s, %s and %s: each has a name of its own; write another for one of them, or leave its key out." $own (index $taken $own) $usual | fail -}}
{{- end -}}
{{- $_ := set $taken $own $usual -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tangram.refuse-calling" -}}
{{- if .Values.scheduler.kubeScheduler.enabled -}}
{{- with .Values.scheduler.clientCA -}}
{{- printf "scheduler.clientCA is %s: it says whose kube-scheduler may call from elsewhere, and the one beside tangram is the only one that may; write scheduler.kubeScheduler.enabled=false, or leave scheduler.clientCA out." . | fail -}}
{{- end -}}
{{- else -}}
{{- if not .Values.scheduler.clientCA -}}
{{- fail "scheduler.kubeScheduler.enabled is false and scheduler.clientCA is empty: nobody could call tangram then; write the name of a ConfigMap of this namespace whose ca.crt has signed the certificate that your kube-scheduler calls with (docs/install.md)." -}}
{{- end -}}
{{- if ne (int .Values.scheduler.replicas) 1 -}}
{{- printf "scheduler.replicas is %d and scheduler.kubeScheduler.enabled is false: only the Lease of a kube-scheduler beside each replica says which of them decides, and two that both do would give one card twice; write scheduler.replicas=1." (int .Values.scheduler.replicas) | fail -}}
{{- end -}}
{{- if eq .Values.certificates.source "self" -}}
{{- fail "certificates.source is self and scheduler.kubeScheduler.enabled is false: the scheduler's own authority changes every 60 days, and a kube-scheduler elsewhere reads it only when it starts; write certificates.source=secret or certificates.source=cert-manager (docs/install.md)." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tangram.refuse-certificates" -}}
{{- with .Values.certificates -}}
{{- if and (eq .source "cert-manager") (not .issuerRef.name) -}}
{{- fail "certificates.source is cert-manager and certificates.issuerRef.name is empty: an Issuer signs the certificate; write certificates.issuerRef.name, and certificates.issuerRef.kind=ClusterIssuer if it is one." -}}
{{- end -}}
{{- if and (ne .source "cert-manager") .issuerRef -}}
{{- printf "certificates.issuerRef is given and certificates.source is %s: an Issuer is only asked by cert-manager; write certificates.source=cert-manager, or leave certificates.issuerRef out." .source | fail -}}
{{- end -}}
{{- if and (eq .source "secret") (not .secretName) -}}
{{- fail "certificates.source is secret and certificates.secretName is empty: it names a Secret of this namespace with tls.crt, tls.key and ca.crt; write its name." -}}
{{- end -}}
{{- if and (ne .source "secret") (or .secretName .caBundle) -}}
{{- printf "certificates.secretName or certificates.caBundle is given and certificates.source is %s: they are for a certificate of yours; write certificates.source=secret, or leave them out." .source | fail -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* ca.crt of somebody else's certificate, for the webhooks, as they want it. The API server would call nobody without
it, and with failurePolicy Fail let no pod with cards in. */}}
{{- define "tangram.ca-bundle" -}}
{{- include "tangram.refuse-certificates" . -}}
{{- if .Values.certificates.caBundle -}}
{{- .Values.certificates.caBundle | b64enc -}}
{{- else -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.certificates.secretName -}}
{{- $bundle := index ($secret.data | default dict) "ca.crt" -}}
{{- if not $bundle -}}
{{- printf "certificates.secretName is %s: helm finds no ca.crt in a Secret of that name in namespace %s; make it before the installation, or write the text of ca.crt into certificates.caBundle (--set-file certificates.caBundle=ca.crt)." .Values.certificates.secretName .Release.Namespace | fail -}}
{{- end -}}
{{- $bundle -}}
{{- end -}}
{{- end -}}
