"""The four annotations on a pod: what should stand there against what does, and the write to make.

By server-side apply on the pod's status: what is left out of the body is removed, a repeated apply
changes nothing, and the pod's spec cannot be reached that way.
"""

from collections.abc import Mapping
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
    metadata: dict[str, object] = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if wanted:
        metadata["annotations"] = {f"{domain}/{key}": value for key, value in wanted.items()}
    return Write(
        Kind.ANNOTATION if wanted else Kind.REMOVAL,
        "PATCH",
        f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        f"?fieldManager={MANAGER}&force=true",
        "application/apply-patch+yaml",
        msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}),
        says=f"{standing.cause}/{standing.detail}/{standing.since}" if standing else "",
    )


def time_of(seconds: float) -> str:
    """RFC 3339 in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
