"""Whether an object says the same as it was written and as the API server stores it.

The classifier reads files that no server has seen, and what a server stores: quantities rewritten,
limits copied to requests, an empty allocatable filled, a scheduler named.
"""

from collections.abc import Iterator

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts

from . import vocabulary as words
from .record import Record


def changed(record: Record) -> Iterator[tuple[str, dict, dict]]:
    """Objects of which the classifier makes something else once they are stored: name, both."""
    stored = {
        (each["kind"], each["metadata"]["name"]): each for each in (*record.nodes, *record.pods)
    }
    for each in record.written:
        name = each["metadata"]["name"]
        other = stored.get((each["kind"], name))
        if other is not None and facts(each) != facts(other):
            yield name, facts(each), facts(other)


def facts(item: dict) -> dict:
    """What the classifier makes of an object, without what only a server can say."""
    if item["kind"] == "Node":
        whole = msgspec.structs.asdict(node_facts(objects.node(item), words.RULES))
        return whole | {"created": None}
    whole = msgspec.structs.asdict(pod_facts(objects.pod(item), words.RULES))
    return whole | {"created": None, "uid": "", "tried": False, "scheduler_says": ""}
