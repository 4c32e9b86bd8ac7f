"""Whose pod it is, and whether it puts the GPUs that it holds to use."""

from enum import StrEnum

from gpu_triage.core import objects

_HASH_LABEL = "pod-template-hash"


class Trouble(StrEnum):
    """Why a pod holds GPUs to no purpose."""

    TERMINATING = "terminating"
    CRASH_LOOPING = "crash-looping"
    FINISHED = "finished, not ended"
    NOT_STARTED = "not started"


def workload(meta: objects.Metadata) -> str:
    """``Deployment/web``, ``Job/train``; empty for a pod that nobody controls.

    A ReplicaSet's pods belong to its Deployment, whose name is the ReplicaSet's without the hash of
    the template.
    """
    owner = next((each for each in meta.owner_references or () if each.controller), None)
    if owner is None:
        return ""
    template = (meta.labels or {}).get(_HASH_LABEL, "")
    if owner.kind == "ReplicaSet" and template and owner.name.endswith(f"-{template}"):
        return f"Deployment/{owner.name.removesuffix(f'-{template}')}"
    return f"{owner.kind}/{owner.name}"


def trouble(meta: objects.Metadata, status: objects.PodStatus) -> Trouble | None:
    """What is wrong with a pod that holds GPUs; None for one that runs.

    Finished is a Job's pod of which a container has ended well while another keeps the pod alive.
    """
    if meta.deletion_timestamp is not None:
        return Trouble.TERMINATING
    states = [each.state for each in status.container_statuses or () if each.state is not None]
    if any(s.waiting is not None and s.waiting.reason == "CrashLoopBackOff" for s in states):
        return Trouble.CRASH_LOOPING
    job = any(each.kind == "Job" and each.controller for each in meta.owner_references or ())
    if job and any(s.terminated is not None and s.terminated.exit_code == 0 for s in states):
        return Trouble.FINISHED
    return Trouble.NOT_STARTED if status.phase == "Pending" else None
