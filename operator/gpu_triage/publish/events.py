"""The Event of a spell: one for the time that a word lasts, so that kubectl describe pod shows it.

An Event is immutable but for its series, and it expires an hour after its last change. Its name
comes from the spell, so an operator that starts anew meets its own Event and doubles nothing.
"""

import hashlib
from datetime import UTC, datetime

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import EventType
from gpu_triage.core.vocabulary import VOCABULARY, sense
from gpu_triage.publish.write import Kind, Write

REPORTER = "gpu-triage.io/operator"
INSTANCE = "gpu-triage"
"""Immutable in an Event, so a constant: with a pod's name the next operator could not go on."""
ACTION = "Triage"
NOTE_BYTES = 1024
NAME_LENGTH = 253


class Told(msgspec.Struct, frozen=True):
    """An Event that is there."""

    name: str
    renew: float
    """When its series must be written next, in seconds since 1970."""


def change(standing: Standing, told: Told | None, now: float, period: float) -> Write | None:
    """The write that a word's Event needs now; None where it needs none.

    Args:
        standing: the word.
        told: the Event of this pod that is known to be there.
        now: seconds since 1970.
        period: seconds between two writes of the series.
    """
    kind = event_type(standing)
    if kind is None:
        return None
    name = _name(standing, kind)
    if told is None or told.name != name:
        return _create(standing, kind, name, now, period)
    if now >= told.renew:
        return _renew(standing, name, now, period)
    return None


def made(standing: Standing, now: float, period: float) -> Told | None:
    """What is known once the write has succeeded, or the Event was there already."""
    kind = event_type(standing)
    if kind is None:
        return None
    return Told(_name(standing, kind), standing.since + period * _count(standing, now, period))


def event_type(standing: Standing) -> EventType | None:
    """How the word is shown; None where no Event is made of it."""
    return sense(standing.cause, standing.detail).event


def _create(standing: Standing, kind: EventType, name: str, now: float, period: float) -> Write:
    pod = standing.pod
    body: dict[str, object] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": pod.namespace},
        "eventTime": _micro_time(standing.since),
        "reportingController": REPORTER,
        "reportingInstance": INSTANCE,
        "action": ACTION,
        "reason": VOCABULARY[standing.cause].reason,
        "type": kind.value,
        "note": _cut(standing.message),
        # kubectl describe looks an Event up by all of these.
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
    }
    if _count(standing, now, period) >= 2:
        body["series"] = _series(standing, now, period)
    return Write(
        Kind.EVENT,
        "POST",
        f"{_collection(standing)}?fieldManager={INSTANCE}",
        "application/json",
        msgspec.json.encode(body),
        says=name,
    )


def _renew(standing: Standing, name: str, now: float, period: float) -> Write:
    return Write(
        Kind.SERIES,
        "PATCH",
        f"{_collection(standing)}/{name}?fieldManager={INSTANCE}",
        "application/merge-patch+json",
        msgspec.json.encode({"series": _series(standing, now, period)}),
        says=name,
    )


def _collection(standing: Standing) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{standing.pod.namespace}/events"


def _count(standing: Standing, now: float, period: float) -> int:
    """How often the word has been said, told from its age: it need not be remembered."""
    return 1 + max(0, int((now - standing.since) // period))


def _series(standing: Standing, now: float, period: float) -> dict[str, object]:
    # The API server wants 2 at least, which a clock that was set back would miss.
    return {
        "count": max(2, _count(standing, now, period)),
        "lastObservedTime": _micro_time(now),
    }


def _name(standing: Standing, kind: EventType) -> str:
    pod = standing.pod
    spell = f"{pod.uid}/{standing.cause}/{kind}/{standing.since}"
    digest = hashlib.sha256(spell.encode()).hexdigest()[:16]
    return f"{pod.name[: NAME_LENGTH - 17].rstrip('-.')}.{digest}"


def _micro_time(seconds: float) -> str:
    """RFC 3339 with exactly six digits: the API server refuses any other number of them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str) -> str:
    """At most 1,024 bytes of UTF-8, whole characters."""
    return text.encode()[:NOTE_BYTES].decode(errors="ignore")
