"""Writes that the operator's account may not make, each by a name."""

import copy

from tests.e2e.operator_process import DOMAIN

CAUSE = f"{DOMAIN}/cause"

READY = {"type": "Ready", "status": "True"}
PATCHES = {
    "a label removed": {"metadata": {"labels": {"app": None}}},
    "a label changed": {"metadata": {"labels": {"app": "other"}}},
    "a label added": {"metadata": {"labels": {"pod-template-hash": "5c6bf9b4"}}},
    "all labels": {"metadata": {"labels": None}},
    "another annotation": {"metadata": {"annotations": {"team": "red"}}},
    "another annotation removed": {"metadata": {"annotations": {"team": None}}},
    "a new annotation": {"metadata": {"annotations": {"example.com/any": "thing"}}},
    "all annotations": {"metadata": {"annotations": None}},
    "ignore, which is the user's": {"metadata": {"annotations": {f"{DOMAIN}/ignore": "true"}}},
    "a domain that begins alike": {"metadata": {"annotations": {f"{DOMAIN}.evil/cause": "x"}}},
    "a finalizer added": {"metadata": {"finalizers": ["example.com/hold", "example.com/two"]}},
    "a finalizer removed": {"metadata": {"finalizers": None}},
    "generateName": {"metadata": {"generateName": "held-"}},
    "phase: Failed": {"status": {"phase": "Failed"}},
    "phase: Succeeded": {"status": {"phase": "Succeeded"}},
    "an IP": {"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}},
    "the condition Ready": {"status": {"conditions": [READY]}},
    "a readiness gate": {"status": {"conditions": [{"type": "example.com/g", "status": "True"}]}},
    "no conditions": {"status": {"conditions": None}},
    "no status": {"status": None},
    "a nomination": {"status": {"nominatedNodeName": "some-node"}},
    "container statuses": {
        "status": {
            "containerStatuses": [
                {
                    "name": "main",
                    "image": "x",
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                    "allocatedResources": {"nvidia.com/gpu": "8"},
                }
            ]
        }
    },
    "the host's IP": {"status": {"hostIP": "10.9.9.9", "hostIPs": [{"ip": "10.9.9.9"}]}},
    "a start time": {"status": {"startTime": "2026-01-20T10:00:00Z"}},
    "a reason": {"status": {"reason": "Evicted"}},
    "a message": {"status": {"message": "It was us."}},
    "the generation seen": {"status": {"observedGeneration": 99}},
    "a resize": {"status": {"resize": "Infeasible"}},
    "resources": {"status": {"resources": {"limits": {"cpu": "8"}}}},
    "allocated resources": {"status": {"allocatedResources": {"cpu": "8"}}},
    "a claim for extended resources": {
        "status": {
            "extendedResourceClaimStatus": {
                "resourceClaimName": "some-claim",
                "requestMappings": [
                    {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "r"}
                ],
            }
        }
    },
}
"""Patches of a pod's status that the policy refuses."""


def with_own(patch):
    """The same patch together with a key of the operator's; None where it cannot have one."""
    both = copy.deepcopy(patch)
    annotations = both.setdefault("metadata", {}).setdefault("annotations", {})
    if annotations is None:
        return None
    annotations[CAUSE] = "taint"
    return both


INVALID = {
    "claims": {"status": {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "y"}]}},
    "the quality of service": {"status": {"qosClass": "Guaranteed"}},
}
"""Patches of a pod's status that the API server takes from nobody."""

IGNORED = {
    "the image": {"spec": {"containers": [{"name": "main", "image": "evil"}]}},
    "the node": {"spec": {"nodeName": "some-node"}},
    "owners": {
        "metadata": {
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "x"}
            ]
        }
    },
    "its own address": {"metadata": {"selfLink": "/api/v1/pods/other"}},
    "the deletion": {"metadata": {"deletionTimestamp": "2026-01-20T10:00:00Z"}},
}
"""Patches of a pod's status of which nothing is stored."""

PODS = "/api/v1/namespaces/{place}/pods"
OTHERS = {
    "read one pod": ("GET", PODS + "/kept", None),
    "patch a pod": ("PATCH", PODS + "/kept", {"metadata": {"annotations": {CAUSE: "x"}}}),
    "replace a pod's status": ("PUT", PODS + "/kept/status", {"kind": "Pod", "apiVersion": "v1"}),
    "make a pod": ("POST", PODS, {"kind": "Pod", "apiVersion": "v1"}),
    "delete a pod": ("DELETE", PODS + "/kept", None),
    "delete all pods": ("DELETE", PODS, None),
    "evict a pod": (
        "POST",
        PODS + "/kept/eviction",
        {"kind": "Eviction", "apiVersion": "policy/v1"},
    ),
    "bind a pod": ("POST", PODS + "/kept/binding", {"kind": "Binding", "apiVersion": "v1"}),
    "run a command in a pod": ("POST", PODS + "/kept/exec?command=id", None),
    "read a pod's log": ("GET", PODS + "/kept/log", None),
    "forward a port": ("POST", PODS + "/kept/portforward?ports=80", None),
    "debug a pod": ("PATCH", PODS + "/kept/ephemeralcontainers", {}),
    "resize a pod": ("PATCH", PODS + "/kept/resize", {}),
    "list Secrets": ("GET", "/api/v1/secrets", None),
    "list Secrets of its own namespace": ("GET", "/api/v1/namespaces/gpu-triage/secrets", None),
    "list ConfigMaps": ("GET", "/api/v1/configmaps", None),
    "list Events": ("GET", "/apis/events.k8s.io/v1/events", None),
    "delete Events": ("DELETE", "/apis/events.k8s.io/v1/namespaces/{place}/events", None),
    "make a core Event": (
        "POST",
        "/api/v1/namespaces/{place}/events",
        {"kind": "Event", "apiVersion": "v1"},
    ),
    "patch a node": ("PATCH", "/api/v1/nodes/any", {"spec": {"unschedulable": True}}),
    "patch a node's status": ("PATCH", "/api/v1/nodes/any/status", {}),
    "delete a node": ("DELETE", "/api/v1/nodes/any", None),
    "patch a namespace": ("PATCH", "/api/v1/namespaces/{place}", {}),
    "make a token": (
        "POST",
        "/api/v1/namespaces/gpu-triage/serviceaccounts/gpu-triage/token",
        {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"},
    ),
    "widen its role": (
        "PATCH",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpu-triage",
        {"rules": []},
    ),
    "remove its policy": (
        "DELETE",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpu-triage-pods",
        None,
    ),
    "remove its policy's binding": (
        "DELETE",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/gpu-triage-pods",
        None,
    ),
    "take another's Lease": (
        "PATCH",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
        {},
    ),
}
"""(method, path, body) for which there is no right."""
