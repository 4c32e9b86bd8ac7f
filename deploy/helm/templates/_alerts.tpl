{{/* The rules of files/alerts.yaml, which are on, and of files/alerts-optional.yaml, which are off,
with what prometheusRule.alerts changes, by the alert's name. */}}
{{- define "gpu-triage.alerts" -}}
{{- $values := .Values.prometheusRule -}}
{{- $known := list -}}
{{- $groups := list -}}
{{- range $file := list "alerts" "alerts-optional" -}}
  {{- range $group := ($.Files.Get (printf "files/%s.yaml" $file) | fromYaml).groups -}}
    {{- $rules := list -}}
    {{- range $rule := $group.rules -}}
      {{- $known = append $known $rule.alert -}}
      {{- $change := get $values.alerts $rule.alert | default dict -}}
      {{- if dig "enabled" (eq $file "alerts") $change -}}
        {{- if $change.for -}}
          {{- $_ := set $rule "for" $change.for -}}
        {{- end -}}
        {{- if $change.severity -}}
          {{- $_ := set $rule.labels "severity" $change.severity -}}
        {{- end -}}
        {{- if $values.runbookBaseUrl -}}
          {{- $anchor := regexReplaceAll "^[^#]*" $rule.annotations.runbook_url "" -}}
          {{- $_ := set $rule.annotations "runbook_url" (print $values.runbookBaseUrl $anchor) -}}
        {{- end -}}
        {{- $rules = append $rules $rule -}}
      {{- end -}}
    {{- end -}}
    {{- if $rules -}}
      {{- $groups = append $groups (set $group "rules" $rules) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $name := keys $values.alerts | sortAlpha -}}
  {{- if not (has $name $known) -}}
    {{- fail (printf "prometheusRule.alerts.%s: there is no such alert; choose from %s" $name (join ", " $known)) -}}
  {{- end -}}
{{- end -}}
{{- toYaml (dict "groups" $groups) -}}
{{- end }}
