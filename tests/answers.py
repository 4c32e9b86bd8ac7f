"""Raw objects in, verdict out: the way that a question is asked in the tests."""

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.autoscaler import said
from gpu_triage.core.classify import classify
from gpu_triage.core.explain import message
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests.builders import CREATED

NOW = objects.seconds(CREATED) + 60


def inventory(*raws, rules=Rules()):
    """An inventory of these raw pods, nodes, DeviceClasses and Events."""
    known = Inventory(rules)
    for raw in raws:
        match raw["kind"]:
            case "Pod":
                known.put_pod(pod_facts(objects.pod(raw), rules))
            case "Node":
                known.put_node(node_facts(objects.node(raw), rules))
            case "DeviceClass":
                each = objects.device_class(raw)
                known.put_class(each.metadata.name, each.spec.extended_resource_name or "")
            case "Event":
                each = objects.event(raw)
                if (told := said(each)) is not None:
                    known.put_saying(each.metadata.name, each.involved_object.uid, told)
    return known


def ask(pod, *others, rules=Rules(), now=NOW, unread=None):
    """The verdict for a raw pod among other raw objects."""
    known = inventory(pod, *others, rules=rules)
    for kind, why in (unread or {}).items():
        known.mark_unread(kind, why)
    return classify(pod_facts(objects.pod(pod), rules), known.picture, now)


def words(*args, **kwargs):
    """CAUSE/DETAIL."""
    verdict = ask(*args, **kwargs)
    return f"{verdict.cause}/{verdict.detail}"


def sentence(*args, now=NOW, **kwargs):
    """The message."""
    return message(ask(*args, now=now, **kwargs), now)
