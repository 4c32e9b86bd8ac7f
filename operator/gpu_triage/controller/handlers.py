"""What kopf's handlers do with an event: put the object into the picture of the cluster.

Low-level handlers only: all others of kopf's leave annotations or finalizers on objects that
belong to somebody else.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import kopf
import msgspec

from gpu_triage.cluster.devices import Devices
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller.sieve import BUNDLE
from gpu_triage.core import autoscaler, objects
from gpu_triage.core.causes import DEVICE_CLASSES, EVENTS, NAMESPACES, NODES, PODS
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import IGNORE, pod_facts
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
        free: asyncio.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes nothing yet.

        Args:
            inventory: the picture to keep.
            rules: what counts as a GPU.
            feeds: the watched kinds, by their plural.
            changed: called when the answers may be other ones now.
            free: set while the picture may be changed.
            clock: seconds that no correction of the time of day touches.
        """
        self.feeds = feeds
        self._clock = clock
        self._devices = Devices()
        self._inventory = inventory
        self._rules = rules
        self._changed = changed
        self._free = free
        self._named: dict[str, dict[str, str]] = {
            kind: {} for kind in (NODES, DEVICE_CLASSES, NAMESPACES)
        }
        """The uid that a name stands for: a node may be made anew before its end is told."""
        self._broken: set[str] = set()

    async def pod(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a pod."""
        await self._may_change()
        self._take(PODS, event)

    async def node(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a node."""
        await self._may_change()
        self._take(NODES, event)

    async def device_class(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a DeviceClass."""
        await self._may_change()
        self._take(DEVICE_CLASSES, event)

    async def namespace(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of a namespace."""
        await self._may_change()
        self._take(NAMESPACES, event)

    async def event(self, event: Mapping[str, Any], **_: Any) -> None:
        """Takes an event of an Event."""
        await self._may_change()
        self._take(EVENTS, event)

    async def _may_change(self) -> None:
        while not self._free.is_set():
            await self._free.wait()

    def _take(self, kind: str, event: Mapping[str, Any]) -> None:
        raw, feed = event["object"], self.feeds[kind]
        was_synced, changed = feed.synced, False
        if BUNDLE in raw:
            for each in raw[BUNDLE]:
                state = None if feed.sieve.ended(each.uid) else each.object
                changed |= self._one(kind, each.uid, each.version, state)
        else:
            metadata = raw["metadata"]
            state = None if event["type"] == "DELETED" else raw
            version = metadata.get("resourceVersion", "")
            changed = self._one(kind, metadata["uid"], version, state)
        if changed or feed.synced is not was_synced:
            self._changed()

    def _one(self, kind: str, uid: str, version: str, state: Any) -> bool:
        """Takes an object as it is in an event or page; None where it has ended."""
        feed = self.feeds[kind]
        # kopf keeps the order of what it takes for one object, and a page is another one.
        if state is not None and feed.sieve.outdated(uid, version):
            return False
        try:
            changed = self._drop(kind, uid) if state is None else self._put(kind, uid, state)
            self._broken.discard(uid)
        except objects.ObjectError as error:
            changed = self._drop(kind, uid)
            self._report(kind, uid, state, error)
        finally:
            feed.handled(uid)
        return changed

    def _report(self, kind: str, uid: str, state: Any, error: objects.ObjectError) -> None:
        if uid in self._broken:
            return
        self._broken.add(uid)
        metadata = (msgspec.to_builtins(state) if isinstance(state, msgspec.Struct) else state)[
            "metadata"
        ]
        name = "/".join(metadata[key] for key in ("namespace", "name") if metadata.get(key))
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
                return self._inventory.put_node(self._devices.recall(node, self._clock()))
            case "namespaces":
                meta = objects.namespace(raw).metadata
                self._named[kind][meta.name] = uid
                asked = (meta.annotations or {}).get(f"{self._rules.domain}/{IGNORE}")
                return self._inventory.put_namespace(meta.name, ignored=asked == "true")
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
            self._devices.forget(name)
            return self._inventory.drop_node(name)
        if kind == NAMESPACES:
            return self._inventory.put_namespace(name, ignored=False)
        return self._inventory.drop_class(name)


def register(registry: kopf.OperatorRegistry, intake: Intake) -> None:
    """Gives kopf a handler for each kind that is watched."""
    for kind, fn in (
        (PODS, intake.pod),
        (NODES, intake.node),
        (DEVICE_CLASSES, intake.device_class),
        (NAMESPACES, intake.namespace),
        (EVENTS, intake.event),
    ):
        if kind in intake.feeds:
            feed = intake.feeds[kind]
            kopf.on.event(feed.group, feed.version, kind, id=kind, registry=registry)(fn)
