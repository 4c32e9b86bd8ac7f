"""When everything that was laid stands, and the scheduler knows of all of it."""

import time

from . import laying
from . import vocabulary as words
from .api import Api, RefusedError
from .asking import Asking
from .narrowing import blocked
from .record import Record
from .text import read

SETTLING, SETTLING_OF_FEW = 0.5, 0.15
"""Seconds for the last status to reach the scheduler, whose nodes and pods are two watches."""


def settle(api: Api, asking: Asking, objects: list[dict], record: Record) -> None:
    """Lays objects and waits until the scheduler knows them; the record keeps them as stored."""
    pods = [each for each in objects if each["kind"] == "Pod"]
    others = [each for each in objects if each["kind"] != "Pod"]
    record.written = [each for each in objects if each["kind"] != "DeviceClass"]
    record.refused += laying.lay(api, others)
    # A pod that failed for want of any node would be tried again at every event.
    record.nodes = laying.standing_nodes(api)
    wait_for_nodes(asking, len(record.nodes))
    record.refused += laying.lay(api, pods)
    while any(_untried(pod) for pod in laying.standing_pods(api)):
        time.sleep(0.1)
    laying.nominate(api, pods)
    time.sleep(SETTLING if len(pods) > 100 else SETTLING_OF_FEW)
    record.pods = laying.standing_pods(api)
    record.classes = laying.standing_classes(api)


def wait_for_nodes(asking: Asking, number: int) -> None:
    """Waits until the scheduler speaks of so many nodes, all that there are."""
    seen = -1
    while seen != number:
        sentinel = _sentinel(f"sentinel-{time.monotonic_ns()}")
        answer = asking.ask([sentinel])[sentinel["metadata"]["name"]]
        if isinstance(answer, RefusedError):
            raise answer
        seen = read(answer.text).nodes


def _sentinel(name: str) -> dict:
    """A pod that asks for nothing and fits nowhere."""
    return blocked(
        {
            "metadata": {"name": name, "namespace": "default", "labels": {words.ROLE: "asking"}},
            "spec": {"containers": [{"name": "main", "image": "none"}]},
        }
    )


def _untried(pod: dict) -> bool:
    """Whether the scheduler will still try a standing pod."""
    spec, conditions = pod["spec"], pod["status"].get("conditions", ())
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and not spec.get("resourceClaims")
        and spec["schedulerName"] in words.PROFILES
        and not any(each["type"] == "PodScheduled" for each in conditions)
    )
