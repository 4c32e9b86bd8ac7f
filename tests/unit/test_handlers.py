"""Events in, picture out: what is kept, what is let go, and what does not parse."""

import asyncio
import json

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.sieve import lean
from gpu_triage.core.rules import Rules
from tests import builders

KINDS = {
    "Pod": "pod",
    "Node": "node",
    "DeviceClass": "device_class",
    "Namespace": "namespace",
    "Event": "event",
}


class Scene:
    """An intake with an inventory and feeds, and the count of changes that it told of."""

    def __init__(self):
        self.changes = 0
        self.inventory = Inventory(Rules())
        self.free = asyncio.Event()
        self.free.set()
        kinds = ("pods", "nodes", "deviceclasses", "namespaces", "events")
        self.feeds = {kind: Feed(kind, "", "v1", clock=float) for kind in kinds}
        self.intake = Intake(self.inventory, Rules(), self.feeds, self.changed, self.free)

    def changed(self):
        self.changes += 1

    def take(self, raw, kind="MODIFIED"):
        """Hand an event over as kopf does; return whether it changed anything."""
        before = self.changes
        handler = getattr(self.intake, KINDS[raw["kind"]])
        asyncio.run(handler({"type": kind, "object": raw}, logger=None, memo=None))
        return self.changes > before


def device_class(name="gpu", resource=builders.GPU):
    return {
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"extendedResourceName": resource},
    }


def test_pods_that_neither_hold_nor_want_gpus_are_not_kept():
    scene = Scene()
    assert not scene.take(builders.pod(gpus=0))
    assert not scene.take(builders.pod("done", node="gpu-a", phase="Succeeded"))
    assert scene.inventory.pods == {}
    assert scene.take(builders.pod("wants"))
    assert scene.take(builders.pod("holds", node="gpu-a"))
    assert scene.take(builders.pod("marked", 0, annotations={"gpu-triage.io/cause": "taint"}))
    assert len(scene.inventory.pods) == 3


def test_a_pod_that_ends_lets_its_gpus_go():
    scene = Scene()
    scene.take(builders.pod(node="gpu-a"))
    assert scene.inventory.picture.used_on("gpu-a") == {builders.GPU: 1}
    assert scene.take(builders.pod(node="gpu-a", phase="Succeeded"))
    assert scene.inventory.picture.used_on("gpu-a") == {}


def test_what_does_not_matter_changes_nothing():
    scene = Scene()
    assert scene.take(builders.node())
    heartbeat = builders.node()
    heartbeat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    assert not scene.take(heartbeat)
    ready = builders.pod(node="gpu-a")
    assert scene.take(ready)
    ready["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "message": "since today"},
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
    ]
    assert not scene.take(ready)


def test_a_node_made_anew_under_its_name_survives_the_end_of_the_old_one():
    scene = Scene()
    old, new = builders.node(), builders.node()
    new["metadata"]["uid"] = "uid-new"
    scene.take(old)
    scene.take(new)
    assert not scene.take(old, "DELETED")
    assert set(scene.inventory.picture.nodes) == {"gpu-a"}
    assert scene.take(new, "DELETED")
    assert scene.inventory.picture.nodes == {}


def test_device_classes_come_and_go():
    scene = Scene()
    assert scene.take(device_class())
    assert scene.inventory.picture.classes == {builders.GPU: "gpu"}
    assert scene.take(device_class(resource=None))
    assert not scene.take(device_class(resource=None), "DELETED")
    assert scene.inventory.picture.classes == {}


def test_an_object_that_does_not_parse_is_left_out_and_told_once(caplog):
    scene = Scene()
    scene.take(builders.pod(node="gpu-a"))
    broken = builders.pod(node="gpu-a")
    broken["spec"]["nodeSelector"] = "x"
    assert scene.take(broken)
    scene.take(broken)
    assert scene.inventory.pods == {}
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "Object does not parse and is left out kind=pods object=default/train "
        "why='Expected `object | null`, got `str` - at `$.spec.nodeSelector`'"
    )
    assert scene.take(builders.pod(node="gpu-a"))
    scene.take(broken)
    assert len(caplog.records) == 2


def test_the_last_object_of_a_list_makes_the_kind_read_even_if_it_does_not_parse():
    scene = Scene()
    feed = scene.feeds["pods"]
    broken = builders.pod()
    broken["spec"] = "x"
    feed.page([broken["metadata"]["uid"]], first=True, last=True)
    assert scene.take(broken, None)
    assert feed.synced


class Page:
    """A page with one pod at version 5, read and not handled yet; events that overtake it."""

    def __init__(self):
        self.scene = Scene()
        self.scene.feeds["pods"].sieve = self.sieve = lean("pods", Rules())
        whole = {"metadata": {"resourceVersion": "9"}, "items": [self.pod(5)]}
        page = self.sieve.page(json.dumps(whole).encode(), first=True)
        self.scene.feeds["pods"].page(page.awaited, first=True, last=page.last)
        (self.bundle,) = page.document["items"]

    @staticmethod
    def pod(version, **rest):
        raw = builders.pod(**rest)
        raw["metadata"]["resourceVersion"] = str(version)
        return raw

    def event(self, version, kind="MODIFIED", **rest):
        """An event that has passed the sieve."""
        raw = self.pod(version, **rest)
        line = self.sieve.lines(json.dumps({"type": kind, "object": raw}).encode())
        return json.loads(line) if line else None

    def take(self, event):
        asyncio.run(self.scene.intake.pod(event))

    def take_page(self):
        self.take({"type": None, "object": self.bundle})


def test_a_page_is_taken_object_by_object():
    page = Page()
    assert not page.scene.feeds["pods"].synced
    page.take_page()
    assert [pod.name for pod in page.scene.inventory.pods.values()] == ["train"]
    assert page.scene.feeds["pods"].synced
    assert page.scene.changes == 1


def test_a_page_that_an_event_overtook_changes_nothing_and_waits_for_nothing():
    page = Page()
    newer = page.event(12, node="gpu-a")
    page.take_page()
    assert page.scene.inventory.pods == {}
    assert not page.scene.feeds["pods"].synced  # what is newer has not been taken yet
    page.take(newer)
    assert page.scene.inventory.picture.used_on("gpu-a") == {builders.GPU: 1}
    assert page.scene.feeds["pods"].synced
    page.take_page()
    assert page.scene.inventory.picture.used_on("gpu-a") == {builders.GPU: 1}


def test_a_page_that_comes_after_the_end_of_its_object_does_not_bring_it_back():
    page = Page()
    page.take(page.event(12, "DELETED"))
    page.take_page()
    assert page.scene.inventory.pods == {}


def test_a_sign_of_life_that_was_dropped_does_not_make_a_page_old():
    page = Page()
    assert page.event(12) is None
    page.take_page()
    assert len(page.scene.inventory.pods) == 1


def test_an_event_that_waited_longer_than_a_newer_page_is_left_out():
    page = Page()
    late = page.event(12, node="gpu-a")
    whole = {"metadata": {"resourceVersion": "20"}, "items": [page.pod(15)]}
    (page.bundle,) = page.sieve.page(json.dumps(whole).encode(), first=True).document["items"]
    page.take_page()
    page.take(late)
    assert page.scene.inventory.picture.used_on("gpu-a") == {}


def test_an_object_of_a_page_with_an_amount_that_is_none_is_named(caplog):
    page = Page()
    broken = page.pod(6)
    broken["spec"]["containers"][0]["resources"] = {"requests": {builders.GPU: "none"}}
    whole = {"metadata": {"resourceVersion": "20"}, "items": [broken]}
    (page.bundle,) = page.sieve.page(json.dumps(whole).encode(), first=True).document["items"]
    page.take_page()
    assert page.scene.inventory.pods == {}
    assert "object=default/train" in caplog.text


def test_an_end_that_only_names_the_uid_is_enough():
    scene = Scene()
    for raw in (builders.pod(node="gpu-a"), builders.node(), device_class()):
        scene.take(raw)
        assert scene.take(
            {"kind": raw["kind"], "metadata": {"uid": raw["metadata"]["uid"]}}, "DELETED"
        )
    assert scene.inventory.pods == {}
    assert scene.inventory.picture.nodes == {}
    assert scene.inventory.picture.classes == {}
    assert scene.inventory.picture.used_on("gpu-a") == {}


def namespace(name="team-a", ignore=None):
    annotations = {"gpu-triage.io/ignore": ignore} if ignore is not None else None
    metadata = {"name": name, "uid": f"uid-{name}", "annotations": annotations}
    return {"kind": "Namespace", "metadata": metadata}


def test_a_namespace_that_asks_to_be_left_alone_is_known_until_it_does_no_more():
    scene = Scene()
    scene.take(builders.pod("a", namespace="team-a"))
    scene.take(builders.pod("b", namespace="team-b"))
    assert not scene.take(namespace())
    assert scene.take(namespace(ignore="true"))
    assert scene.inventory.ignored == {"team-a"}
    assert [pod.name for pod in scene.inventory.take_ignored()] == ["a"]
    assert scene.inventory.take_ignored() == []
    assert not scene.take(namespace(ignore="true"))
    assert scene.take(namespace(ignore="false"))
    assert scene.take(namespace(ignore="true"))
    # What a new list lacks ends with its uid alone.
    asyncio.run(
        scene.intake.namespace({"type": "DELETED", "object": {"metadata": {"uid": "uid-team-a"}}})
    )
    assert scene.inventory.ignored == set()
    assert [pod.name for pod in scene.inventory.take_ignored()] == ["a"]


def test_what_autoscalers_say_is_kept_until_their_event_is_gone():
    scene = Scene()
    made = builders.event("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 8)}]")
    made["metadata"]["uid"] = "uid-event"
    other = builders.event("Scheduled", "Successfully assigned default/train to gpu-a")
    other["metadata"]["uid"] = "uid-other"
    assert scene.take(made)
    assert not scene.take(made)
    assert not scene.take(other)
    assert scene.inventory.picture.said["uid-default-train"].coming
    assert not scene.take(other, "DELETED")
    assert scene.take(made, "DELETED")
    assert scene.inventory.picture.said == {}
