{{/* The admission policies: what RBAC cannot say. "patch pods/status" also reaches labels, the
phase, conditions and IPs: whoever holds it can end any workload and redirect any Service.

Takes a dict: root, account (the ServiceAccount's name), domains (prefixes of the annotation keys).
*/}}

{{- define "gpu-triage.isAccount" -}}
- name: is-gpu-triage
  expression: request.userInfo.username == 'system:serviceaccount:{{ .root.Release.Namespace }}:{{ .account }}'
{{- end }}

{{- define "gpu-triage.podsPolicy" -}}
failurePolicy: Fail
matchConstraints:
  resourceRules:
    # Subresources too, so that a right that is given by mistake is of no use.
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [UPDATE]
      resources: [pods, "pods/*"]
      scope: "*"
matchConditions:
  {{- include "gpu-triage.isAccount" . | nindent 2 }}
variables:
  - name: was
    expression: oldObject.metadata.?annotations.orValue({})
  - name: now
    expression: object.metadata.?annotations.orValue({})
  # Exact keys: by a prefix it could write "ignore", which is for users to set.
  - name: own
    expression: >-
      [
      {{- range $i, $domain := .domains }}
      {{- if $i }}, {{ end -}}
      '{{ $domain }}/cause', '{{ $domain }}/detail', '{{ $domain }}/message', '{{ $domain }}/since'
      {{- end -}}
      ]
  - name: touched
    expression: >-
      variables.now.filter(k, !(k in variables.was) || variables.was[k] != variables.now[k])
      + variables.was.filter(k, !(k in variables.now))
  # These differ at every write, or are what the third rule looks at.
  - name: kept
    expression: "['annotations', 'managedFields', 'resourceVersion']"
validations:
  - expression: request.?subResource.orValue('') == 'status'
    message: gpu-triage may write to a pod only by pods/status
    reason: Forbidden
  - expression: variables.touched.all(k, k in variables.own)
    messageExpression: >-
      'gpu-triage may not touch the annotation '
      + variables.touched.filter(k, !(k in variables.own))[0]
    message: gpu-triage may not touch other annotations than its own
    reason: Forbidden
  # dyn(): all of the metadata by name, without a type that lacks what a later version adds.
  - expression: >-
      dyn(object.metadata).all(k, k in variables.kept
      || (k in dyn(oldObject.metadata) && dyn(object.metadata)[k] == dyn(oldObject.metadata)[k]))
      && dyn(oldObject.metadata).all(k, k in variables.kept || k in dyn(object.metadata))
    message: gpu-triage may not change a pod's metadata apart from its own annotations
    reason: Forbidden
  - expression: object.?status == oldObject.?status
    message: gpu-triage may not change a pod's status
    reason: Forbidden
{{- end }}

{{- define "gpu-triage.eventsPolicy" -}}
failurePolicy: Fail
matchConstraints:
  resourceRules:
    # Equivalent: an Event that comes by the core group is held to the same.
    - apiGroups: [events.k8s.io]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [events]
      scope: "*"
matchConditions:
  {{- include "gpu-triage.isAccount" . | nindent 2 }}
validations:
  - expression: object.?reportingController.orValue('') == 'gpu-triage.io/operator'
    message: gpu-triage may write Events only in its own name
    reason: Forbidden
  - expression: >-
      request.operation == 'CREATE'
      || oldObject.?reportingController.orValue('') == 'gpu-triage.io/operator'
    message: gpu-triage may change no Events but its own
    reason: Forbidden
{{- end }}
