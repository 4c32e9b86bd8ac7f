"""Since when pods wait for nodes that are to come: what no object tells, so it is remembered."""

from collections.abc import Collection

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.causes import Detail
from gpu_triage.core.patience import nominated_since
from gpu_triage.core.pod_facts import PodFacts


class Patience:
    """Keeps ``missing`` and ``starting`` of an inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._nominated: dict[str, str] = {}
        """Where each waiting pod was nominated to when it was last looked at."""
        self._left: dict[str, float] = {}
        """Since when no node is starting any more for a pod for which some were."""

    def look(self, pods: Collection[str], nodes: Collection[str], now: float) -> None:
        """Takes in which nominations are to nodes that are not there.

        Args:
            pods: the uids of those that may be different.
            nodes: the names of those that may have come or gone.
            now: seconds since 1970.
        """
        there = self._inventory.picture.nominated
        concerned = {uid for name in nodes for uid in there.get(name, ())}
        for uid in concerned.union(pods):
            self._look(uid, self._inventory.pods.get(uid), now)

    def note(self, pod: PodFacts, starting: bool, now: float) -> None:
        """Takes in whether nodes are starting for a pod.

        As long as there is never a pause as long as a start may take, it is all one wait: nodes
        that come and fail one after the other make none.
        """
        known, lasts = self._inventory.starting, self._inventory.picture.rules.node_starting_seconds
        if not starting:
            if pod.uid in known:
                self._left.setdefault(pod.uid, now)
            return
        left = self._left.pop(pod.uid, now)
        if pod.uid not in known or now - left >= lasts:
            known[pod.uid] = _read_back(pod, now - lasts, now)

    def _look(self, uid: str, pod: PodFacts | None, now: float) -> None:
        missing = self._inventory.missing
        before = self._nominated.pop(uid, None)
        if pod is None or not pod.pending:
            self._left.pop(uid, None)
            for known in (missing, self._inventory.starting):
                known.pop(uid, None)
            return
        self._nominated[uid] = pod.nominated
        if not pod.nominated or pod.nominated in self._inventory.picture.nodes:
            missing.pop(uid, None)
        elif before is None:
            missing[uid] = nominated_since(pod)
        elif before != pod.nominated or uid not in missing:
            missing[uid] = now


def _read_back(pod: PodFacts, earliest: float, now: float) -> float:
    """Since when an earlier life of the operator has told the pod to wait, if not for too long."""
    since = objects.seconds(pod.published.get("since"))
    told = pod.published.get("detail") == Detail.NODE_STARTING
    return since if told and since is not None and earliest < since <= now else now
