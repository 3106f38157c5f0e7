{{/*
What the pods of all parts have in common.
*/}}

{{- define "tangram-parts.image" -}}
image: {{ printf "%s/tangram:%s" (.Values.registry | trimSuffix "/") .Chart.AppVersion | quote }}
imagePullPolicy: {{ .Values.pullPolicy }}
{{- end -}}

{{- define "tangram-parts.pull-secrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The log options of one component, as JSON: its own where it has one, else those for all. An empty text of its own
counts: `dir: ""` is how files are switched off. (list . .Values.gpuDevice.log) */}}
{{- define "tangram-parts.log" -}}
{{- $all := (index . 0).Values.log | default dict -}}
{{- $own := index . 1 | default dict -}}
{{- $log := dict -}}
{{- range $key := list "dir" "level" "format" "rotationTime" "maxAge" -}}
{{- $_ := set $log $key (hasKey $own $key | ternary (get $own $key) (get $all $key)) -}}
{{- end -}}
{{- $log | toJson -}}
{{- end -}}

{{/* The same as arguments. Inside, the files are always in one folder, so that no choice of a folder on the host hides
something that the container needs. */}}
{{- define "tangram-parts.log-arguments" -}}
{{- $log := include "tangram-parts.log" . | fromJson -}}
- --log-dir
- {{ empty $log.dir | ternary "" "/var/log/metax" | quote }}
- --log-level
- {{ $log.level | quote }}
- --log-format
- {{ $log.format | quote }}
- --log-rotation
- {{ $log.rotationTime | quote }}
- --log-max-age
- {{ $log.maxAge | quote }}
{{- end -}}

{{/* Where the host keeps the log files; nothing where there are none. */}}
{{- define "tangram-parts.log-mount" -}}
{{- $log := include "tangram-parts.log" . | fromJson -}}
{{- if $log.dir -}}
- name: logs
  mountPath: /var/log/metax
{{- end }}
{{- end -}}

{{- define "tangram-parts.log-volume" -}}
{{- $log := include "tangram-parts.log" . | fromJson -}}
{{- with $log.dir -}}
- name: logs
  hostPath:
    path: {{ . | quote }}
    type: DirectoryOrCreate
{{- end }}
{{- end -}}

{{/* A container that only asks and answers: nothing of the host but its log folder. That folder is root's, so who
writes to it is root too, without any of root's powers. */}}
{{- define "tangram-parts.confined" -}}
{{- $log := include "tangram-parts.log" . | fromJson -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- if $log.dir }}
runAsUser: 0
runAsGroup: 0
{{- else }}
runAsNonRoot: true
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* A hung process is started anew after a minute and a half; one that cannot serve now is only said to be unready. */}}
{{- define "tangram-parts.probes" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ . }}
  periodSeconds: 30
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ . }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{/* On whichever node it belongs, whatever keeps other pods away from there. */}}
{{- define "tangram-parts.tolerate-everything" -}}
tolerations:
  - operator: Exists
{{- end -}}

{{/* On processors that the image is built for. Elsewhere a pod would wait for its image for ever, and helm with it. */}}
{{- define "tangram-parts.built-for" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      - matchExpressions:
          - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
{{- end -}}
