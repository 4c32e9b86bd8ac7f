"""What an autoscaler last said about a pod, from its Events.

Cluster Autoscaler says TriggeredScaleUp or NotTriggerScaleUp, Karpenter Nominated or
FailedScheduling: the reasons of ``processors/status/eventing_scale_up_processor.go`` and of
``controllers/provisioning/scheduling/events.go``. Schedulers have a FailedScheduling of their own,
of another text. Who reports is not asked: managed clusters run both under names of their own.
"""

from collections.abc import Mapping

import msgspec

from gpu_triage.core import objects

TAKEN_ON = ("TriggeredScaleUp", "Nominated")
"""It makes a node for the pod, or has one in mind for it."""
TURNED_DOWN = "NotTriggerScaleUp"
FAILED = "FailedScheduling"
KARPENTER_FAILED = "Failed to schedule pod"
"""How Karpenter's text of that reason begins; a scheduler's begins with its count of nodes."""

NOTHING_SAID: Mapping[str, "Said"] = {}


class Said(msgspec.Struct, frozen=True, order=True):
    """One thing that an autoscaler said; the newest one is the largest."""

    at: float
    """When it last said so, in seconds since 1970."""
    coming: bool
    """A node is on its way; else it makes none."""
    text: str


def said(event: objects.Event) -> Said | None:
    """What an Event tells; None where it is no autoscaler's about a pod."""
    text, about = event.message or "", event.involved_object
    coming = event.reason in TAKEN_ON
    refused = event.reason == TURNED_DOWN or (
        event.reason == FAILED and text.startswith(KARPENTER_FAILED)
    )
    if not (coming or refused) or about is None or about.kind != "Pod" or not about.uid:
        return None
    series = event.series.last_observed_time if event.series is not None else None
    given = (event.last_timestamp, series, event.event_time, event.metadata.creation_timestamp)
    times = [at for at in map(objects.seconds, given) if at is not None]
    return Said(max(times), coming, text) if times else None
