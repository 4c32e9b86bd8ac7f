"""Events in, picture out: what is kept, what is let go, and what does not parse."""

import asyncio

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.core.rules import Rules
from tests import builders

KINDS = {"Pod": "pod", "Node": "node", "DeviceClass": "device_class", "Event": "event"}


class Scene:
    """An intake with an inventory and feeds, and the count of changes that it told of."""

    def __init__(self):
        self.changes = 0
        self.inventory = Inventory(Rules())
        self.feeds = {
            kind: Feed(kind, "", "v1", clock=float)
            for kind in ("pods", "nodes", "deviceclasses", "events")
        }
        self.intake = Intake(self.inventory, Rules(), self.feeds, self.changed)

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
