{{/* What no schema can say; values.schema.json has the rest. */}}
{{- define "gpu-triage.check" -}}
{{- range concat (list .Values.settings.annotationDomain) (.Values.settings.oldAnnotationDomains | default list) -}}
{{- if or (hasSuffix ".kubernetes.io" (printf ".%s" .)) (hasSuffix ".k8s.io" (printf ".%s" .)) -}}
{{- fail (printf "settings.annotationDomain: %s is reserved by Kubernetes; use a domain of your own" .) -}}
{{- end -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false: name the account that is there in serviceAccount.name" -}}
{{- end -}}
{{- if and (has .Values.settings.annotationDomain (.Values.settings.oldAnnotationDomains | default list)) -}}
{{- fail "settings.oldAnnotationDomains names the present settings.annotationDomain; list former ones only" -}}
{{- end -}}
{{- end }}
