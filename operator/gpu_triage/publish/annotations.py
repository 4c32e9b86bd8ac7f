"""The four annotations on a pod: what should stand there, and the writes that make it so.

By server-side apply on the pod's status: what is left out of the body is removed, a repeated apply
changes nothing, and the pod's spec cannot be reached that way.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from gpu_triage.cluster.verdicts import Standing
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


def publish(standing: Standing, domain: str, left: Iterable[str] = ()) -> Write:
    """The write that makes a pod say its word, and nothing else of ours.

    The pod's uid is its precondition: another pod that was made under the same name is refused.

    Args:
        standing: the word, with its pod.
        domain: prefix of the keys.
        left: keys of ours to take over on the way; see ``take_over``.
    """
    pod = standing.pod
    marks = {f"{domain}/{key}": value for key, value in values(standing).items()}
    return _apply(
        Kind.ANNOTATION,
        pod.namespace,
        pod.name,
        pod.uid,
        {**dict.fromkeys(left, ""), **marks},
        says=spell(standing),
    )


def spell(standing: Standing | None) -> str:
    """What a write about a word says, apart from numbers."""
    return f"{standing.cause}/{standing.detail}/{standing.since}" if standing is not None else ""


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
