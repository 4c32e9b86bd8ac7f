"""The four annotations on a pod: what should stand there against what does, and the write to make.

By server-side apply on the pod's status: what is left out of the body is removed, a repeated apply
changes nothing, and the pod's spec cannot be reached that way.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish.write import Kind, Write

MANAGER = "gpu-triage"
"""Apply removes only what this manager has applied, so it never changes."""


def values(standing: Standing | None) -> dict[str, str]:
    """What should stand on a pod, by key without the domain; nothing where no word stands."""
    if standing is None:
        return {}
    return {
        "cause": standing.cause.value,
        "detail": standing.detail.value,
        "message": standing.message,
        "since": time_of(standing.since),
    }


def change(
    pod: PodFacts, there: Mapping[str, str], standing: Standing | None, domain: str
) -> Write | None:
    """The write that makes a pod say what it should; None where it says so already.

    Args:
        pod: whose name and uid the write is for. The uid is its precondition: another pod that was
            made under the same name is refused.
        there: what stands on the pod, without the domain.
        standing: what should; None for nothing.
        domain: prefix of the keys.
    """
    wanted = values(standing)
    if wanted == there:
        return None
    if standing is None:
        return removal(pod.namespace, pod.name, pod.uid)
    return _apply(
        Kind.ANNOTATION,
        pod.namespace,
        pod.name,
        pod.uid,
        {f"{domain}/{key}": value for key, value in wanted.items()},
        says=f"{standing.cause}/{standing.detail}/{standing.since}",
    )


def removal(namespace: str, name: str, uid: str) -> Write:
    """Takes off a pod whatever this manager has applied, of whichever domain."""
    return _apply(Kind.REMOVAL, namespace, name, uid, {}, says="")


def take_over(namespace: str, name: str, uid: str, keys: Iterable[str]) -> Write:
    """Makes this manager the only owner of keys that a removal has left standing.

    They were written by somebody else too, as by ``kubectl apply`` of a pod that was copied with
    its annotations. Another value makes the others lose them; the same one would be shared.
    """
    return _apply(Kind.REMOVAL, namespace, name, uid, dict.fromkeys(keys, ""), says="")


def _apply(
    kind: Kind, namespace: str, name: str, uid: str, annotations: dict[str, str], *, says: str
) -> Write:
    metadata: dict[str, object] = {"name": name, "namespace": namespace, "uid": uid}
    if annotations:
        metadata["annotations"] = annotations
    return Write(
        kind,
        "PATCH",
        f"/api/v1/namespaces/{namespace}/pods/{name}/status?fieldManager={MANAGER}&force=true",
        "application/apply-patch+yaml",
        msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}),
        says=says,
    )


def time_of(seconds: float) -> str:
    """RFC 3339 in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
