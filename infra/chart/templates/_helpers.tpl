{{- define "control.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "control.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "control.labels" -}}
{{ include "control.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "control.scheme" -}}
{{ if .Values.tlsSecretName }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* The template of a pod: `root`, `role` (api, projector, or empty for both), `drainSeconds` and `resources`. */ -}}
{{- define "control.pod" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
metadata:
  labels: {{- include "control.labels" $root | nindent 4 }}
    {{- with .role }}
    app.kubernetes.io/component: {{ . }}
    {{- end }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "8080"
    prometheus.io/scheme: {{ include "control.scheme" $root | lower }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  # Otherwise Kubernetes sets CONTROL_PORT to an address, if there is a Service with the name "control".
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  # The drain time, then the 8 seconds within which the process ends, and some for the machine.
  terminationGracePeriodSeconds: {{ add .drainSeconds 15 }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .role }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "control.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ . }}
  {{- end }}
  containers:
    - {{ include "control.container" . | indent 6 | trim }}
  volumes: {{- include "control.volumes" . | nindent 4 }}
{{- end }}

{{- define "control.probes" -}}
{{- $scheme := include "control.scheme" . -}}
# A process listens after five seconds, or when it is ready; checking a large log may come first.
startupProbe:
  httpGet: { path: /health/live, port: http, scheme: {{ $scheme }} }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 300
# Only whether the process runs: a restart helps against nothing that readiness names.
livenessProbe:
  httpGet: { path: /health/live, port: http, scheme: {{ $scheme }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /health/ready, port: http, scheme: {{ $scheme }} }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 1
{{- end }}

{{- define "control.container" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
name: control
image: {{ printf "%s:%s" $values.image.repository (default $root.Chart.AppVersion $values.image.tag) | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
ports:
  - { name: http, containerPort: 8080 }
env:
  - { name: CONTROL_DRAIN_MS, value: {{ mul .drainSeconds 1000 | quote }} }
  {{- if $values.secretName }}
  - { name: CONTROL_ROOT_KEY_FILE, value: /run/control/secrets/root.key }
  - { name: CONTROL_SECRET_FILE, value: /run/control/secrets/service.secret }
  {{- end }}
  {{- if $values.tlsSecretName }}
  - { name: CONTROL_TLS_CERT_FILE, value: /run/control/tls/tls.crt }
  - { name: CONTROL_TLS_KEY_FILE, value: /run/control/tls/tls.key }
  {{- end }}
  {{- if eq $values.store "cluster" }}
  {{- include "control.clusterEnv" . | nindent 2 }}
  {{- else }}
  # A folder below the volume's, which belongs to root: the service makes its own, for its user alone.
  - { name: CONTROL_DATA_DIR, value: /data/control }
  {{- end }}
  {{- range $name, $value := $values.env }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
{{ include "control.probes" $root }}
resources: {{- toYaml .resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: tmp, mountPath: /tmp }
  {{- range include "control.secretMounts" . | fromYamlArray }}
  - { name: {{ .name }}, mountPath: {{ printf "/run/control/%s" .name }}, readOnly: true }
  {{- end }}
{{- end }}

{{- define "control.clusterEnv" -}}
{{- $kafka := .root.Values.cluster.kafka -}}
{{- $elasticsearch := .root.Values.cluster.elasticsearch -}}
- { name: CONTROL_STORE, value: cluster }
- { name: CONTROL_ROLES, value: {{ .role }} }
- { name: CONTROL_SNAPSHOT_DIR, value: /data/control }
- { name: CONTROL_KAFKA_BROKERS, value: {{ required "cluster.kafka.brokers: name some of the brokers, host:port, separated by commas" $kafka.brokers | quote }} }
- { name: CONTROL_KAFKA_TLS, value: {{ $kafka.tls | quote }} }
{{- if $kafka.caSecretName }}
- { name: CONTROL_KAFKA_CA_FILE, value: /run/control/kafka-ca/ca.pem }
{{- end }}
{{- if $kafka.username }}
- { name: CONTROL_KAFKA_USERNAME, value: {{ $kafka.username | quote }} }
- { name: CONTROL_KAFKA_SASL_MECHANISM, value: {{ $kafka.saslMechanism }} }
- { name: CONTROL_KAFKA_PASSWORD_FILE, value: /run/control/kafka-password/password }
{{- end }}
- { name: CONTROL_ELASTICSEARCH_URL, value: {{ required "cluster.elasticsearch.url: name some of the nodes, https://host:port, separated by commas" $elasticsearch.url | quote }} }
{{- if $elasticsearch.caSecretName }}
- { name: CONTROL_ELASTICSEARCH_CA_FILE, value: /run/control/elasticsearch-ca/ca.pem }
{{- end }}
{{- if $elasticsearch.apiKeySecretName }}
- { name: CONTROL_ELASTICSEARCH_API_KEY_FILE, value: /run/control/elasticsearch-key/api.key }
{{- end }}
{{- if and (eq .role "projector") .root.Values.cluster.checkpointKeySecretName }}
- { name: CONTROL_CHECKPOINT_KEY_FILE, value: /run/control/checkpoint-key/checkpoint.key }
{{- end }}
{{- end }}

{{- /* The Secrets that are mounted: `name` of the folder and of the volume, and the Secret's. */ -}}
{{- define "control.secretMounts" -}}
{{- $values := .root.Values -}}
{{- $cluster := $values.cluster -}}
{{- $mounts := list (dict "name" "tls" "secret" $values.tlsSecretName) -}}
{{- if eq $values.store "cluster" -}}
{{- $own := required "secretName: a cluster needs a Secret with the files root.key and service.secret, the same for all its processes" $values.secretName -}}
{{- $mounts = append $mounts (dict "name" "secrets" "secret" $own) -}}
{{- if $cluster.kafka.username -}}
{{- $password := required "cluster.kafka.passwordSecretName: the user name needs a Secret with the file password" $cluster.kafka.passwordSecretName -}}
{{- $mounts = append $mounts (dict "name" "kafka-password" "secret" $password) -}}
{{- end -}}
{{- $mounts = append $mounts (dict "name" "kafka-ca" "secret" $cluster.kafka.caSecretName) -}}
{{- $mounts = append $mounts (dict "name" "elasticsearch-ca" "secret" $cluster.elasticsearch.caSecretName) -}}
{{- $mounts = append $mounts (dict "name" "elasticsearch-key" "secret" $cluster.elasticsearch.apiKeySecretName) -}}
{{- if eq .role "projector" -}}
{{- $mounts = append $mounts (dict "name" "checkpoint-key" "secret" $cluster.checkpointKeySecretName) -}}
{{- end -}}
{{- else -}}
{{- $mounts = append $mounts (dict "name" "secrets" "secret" $values.secretName) -}}
{{- end -}}
{{- range $mounts }}{{ if .secret }}
- { name: {{ .name }}, secret: {{ .secret }} }
{{- end }}{{ end -}}
{{- end }}

{{- define "control.volumes" -}}
- name: tmp
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- range include "control.secretMounts" . | fromYamlArray }}
- name: {{ .name }}
  secret: { secretName: {{ .secret }}, defaultMode: 0440 }
{{- end }}
{{- if eq .root.Values.store "cluster" }}
# A snapshot of the control state, which shortens the next start of this container.
- name: data
  emptyDir: { sizeLimit: 2Gi }
{{- end }}
{{- end }}
