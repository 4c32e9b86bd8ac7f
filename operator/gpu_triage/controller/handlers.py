"""What kopf's handlers do with an event: put the object into the picture of the cluster.

Low-level handlers only: all others of kopf's leave annotations or finalizers on objects that
belong to somebody else.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import kopf

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import autoscaler, objects
from gpu_triage.core.causes import DEVICE_CLASSES, EVENTS, NODES, PODS
from gpu_triage.core.facts import node_facts, pod_facts
from gpu_triage.core.rules import Rules

if TYPE_CHECKING:
    from gpu_triage.controller.feed import Feed

log = logging.getLogger(__name__)


class Intake:
    """Takes objects as they come, in any order, and lets those go that are gone."""

    def __init__(
        self,
        inventory: Inventory,
        rules: Rules,
        feeds: Mapping[str, "Feed"],
        changed: Callable[[], None],
    ) -> None:
        """Takes nothing yet.

        Args:
            inventory: the picture to keep.
            rules: what counts as a GPU.
            feeds: the watched kinds, by their plural.
            changed: called when the answers may be other ones now.
        """
        self.feeds = feeds
        self._inventory = inventory
        self._rules = rules
        self._changed = changed
        self._named: dict[str, dict[str, str]] = {NODES: {}, DEVICE_CLASSES: {}}
        """The uid that a name stands for: a node may be made anew before its end is told."""
        self._broken: set[str] = set()

    async def pod(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a pod."""
        self._take(PODS, event)

    async def node(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a node."""
        self._take(NODES, event)

    async def device_class(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a DeviceClass."""
        self._take(DEVICE_CLASSES, event)

    async def event(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of an Event."""
        self._take(EVENTS, event)

    def _take(self, kind: str, event: Mapping[str, Any]) -> None:
        raw = event["object"]
        uid: str = raw["metadata"]["uid"]
        feed = self.feeds[kind]
        was_synced, changed = feed.synced, False
        try:
            changed = (
                self._drop(kind, uid) if event["type"] == "DELETED" else self._put(kind, uid, raw)
            )
            self._broken.discard(uid)
        except objects.ObjectError as error:
            changed = self._drop(kind, uid)
            self._report(kind, uid, raw["metadata"], error)
        finally:
            feed.handled(uid)
        if changed or feed.synced is not was_synced:
            self._changed()

    def _report(
        self, kind: str, uid: str, metadata: Mapping[str, str], error: objects.ObjectError
    ) -> None:
        if uid in self._broken:
            return
        self._broken.add(uid)
        name = "/".join(metadata[key] for key in ("namespace", "name") if key in metadata)
        log.warning(
            "Object does not parse and is left out kind=%s object=%s why=%r", kind, name, str(error)
        )

    def _put(self, kind: str, uid: str, raw: Any) -> bool:
        match kind:
            case "pods":
                pod = pod_facts(objects.pod(raw), self._rules)
                # Pods that neither hold nor want a GPU are most of a cluster.
                if pod.published or (pod.shape.request and not pod.ended):
                    return self._inventory.put_pod(pod)
                return self._inventory.drop_pod(uid)
            case "nodes":
                node = node_facts(objects.node(raw), self._rules)
                self._named[kind][node.name] = uid
                return self._inventory.put_node(node)
            case "events":
                told = objects.event(raw)
                said = autoscaler.said(told)
                if said is None or told.involved_object is None:
                    return self._inventory.drop_saying(uid)
                return self._inventory.put_saying(uid, told.involved_object.uid, said)
            case _:
                each = objects.device_class(raw)
                self._named[kind][each.metadata.name] = uid
                served = each.spec.extended_resource_name if each.spec is not None else None
                return self._inventory.put_class(each.metadata.name, served or "")

    def _drop(self, kind: str, uid: str) -> bool:
        if kind == PODS:
            return self._inventory.drop_pod(uid)
        if kind == EVENTS:
            return self._inventory.drop_saying(uid)
        named = self._named[kind]
        name = next((each for each, own in named.items() if own == uid), None)
        if name is None:
            return False
        del named[name]
        if kind == NODES:
            return self._inventory.drop_node(name)
        return self._inventory.drop_class(name)


def register(registry: kopf.OperatorRegistry, intake: Intake) -> None:
    """Gives kopf a handler for each kind that is watched."""
    for kind, fn in (
        (PODS, intake.pod),
        (NODES, intake.node),
        (DEVICE_CLASSES, intake.device_class),
        (EVENTS, intake.event),
    ):
        if kind in intake.feeds:
            feed = intake.feeds[kind]
            kopf.on.event(feed.group, feed.version, kind, id=kind, registry=registry)(fn)
