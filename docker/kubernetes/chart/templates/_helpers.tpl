{{- define "weft.labels" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/instance: {{ .release }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- /* Of a pool: what it says, and what it does not say as in `worker`. A null switches something off. */ -}}
{{- define "weft.pool" -}}
{{- $pool := deepCopy .all }}
{{- range $key, $value := .pool }}
{{- if and (kindIs "map" $value) (kindIs "map" (get $pool $key)) }}
{{- $_ := set $pool $key (mergeOverwrite (deepCopy (get $pool $key)) $value) }}
{{- else }}
{{- $_ := set $pool $key $value }}
{{- end }}
{{- end }}
{{- toYaml $pool }}
{{- end }}

{{- define "weft.container" -}}
image: {{ printf "%s:%s" .image.repository .image.tag }}
imagePullPolicy: {{ .image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- /* Where masters are found: a list of all, or the Service of the only one. */ -}}
{{- define "weft.masters" -}}
{{- if gt (int .Values.masters) 1 }}
{{- range $i := until (int .Values.masters) }}
{{- if $i }},{{ end }}
{{- printf "%s-master-%d.%s-masters:7077" $.Release.Name $i $.Release.Name }}
{{- end }}
{{- else }}
{{- printf "%s-master:7077" .Release.Name }}
{{- end }}
{{- end }}

{{- /* The Secret with the certificate of masters or of workers: `component` says of which. Nothing where nothing is encrypted. */ -}}
{{- define "weft.secret" -}}
{{- $own := .root.Values.certificates }}
{{- if ne (empty $own.masters) (empty $own.workers) }}
{{- fail "certificates: masters and workers need one each, or none, so that the chart makes them" }}
{{- end }}
{{- if and .root.Values.insecure $own.masters }}
{{- fail "insecure and certificates exclude each other" }}
{{- end }}
{{- if not .root.Values.insecure }}
{{- get $own (printf "%ss" .component) | default (printf "%s-%s" .root.Release.Name .component) }}
{{- end }}
{{- end }}
{{- /* Its name is in `.`. */ -}}
{{- define "weft.security" -}}
- { name: WEFT_SECURITY, value: {{ empty . | ternary "insecure" "/etc/weft/certificates" }} }
{{- end }}
{{- define "weft.scrape" -}}
prometheus.io/scrape: "true"
{{- if .secret }}
prometheus.io/scheme: "https"
{{- end }}
prometheus.io/port: {{ .port | quote }}
{{- end }}
{{- define "weft.certificates" -}}
- name: certificates
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}

{{- define "weft.pod" -}}
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- end }}
