"""A pretended scheduler and kubelet: pods are placed as kube-scheduler would, and run, and end.

It tries a pod at once, and again when the cluster changes, after a back-off of 1 s that doubles up
to 10 s; it says why not in kube-scheduler's words.
"""

import asyncio
import contextlib
import math
from collections import Counter
from datetime import UTC, datetime

TICK_SECONDS = 0.2
START_SECONDS = 3.0
"""From the node to the first running container."""
FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 10.0


class PretendScheduler:
    """Places pods; ``lasts[uid]`` is how many seconds one runs, for ever where it is not there."""

    def __init__(self, api, clock):
        self._api, self._clock = api, clock
        self.lasts = {}
        self._tries = {}
        self._ends = {}

    async def run(self):
        room = None
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._api.changed.clear()
            self._end_those_that_are_done()
            before, room = room, self._room()
            if room != before:
                for tried in self._tries.values():
                    tried.woken = True
            due = min([self._try_all(), *(when for when, _ in self._ends.values())])
            await self._wait(due)

    async def _wait(self, due):
        timeout = None if math.isinf(due) else max(0.0, due - self._clock.steady())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._api.changed.wait()

    def _end_those_that_are_done(self):
        now = self._clock.steady()
        for uid, (when, phase) in list(self._ends.items()):
            if now < when:
                continue
            del self._ends[uid]
            pod = self._api.pods.get(uid)
            if pod is None:
                continue
            self._api.put(_with_status(pod, phase=phase))
            if phase == "Running" and uid in self.lasts:
                self._ends[uid] = now + self.lasts[uid], "Succeeded"

    def _room(self):
        """What a scheduler would wake pods for."""
        held = Counter(pod["spec"]["nodeName"] for pod in self._api.pods.values() if _holds(pod))
        nodes = [
            (
                each["metadata"]["name"],
                repr(each["spec"]),
                repr(each["status"]["allocatable"]),
                repr(each["metadata"]["labels"]),
            )
            for each in self._api.nodes.values()
        ]
        return held, nodes

    def _try_all(self):
        """Try whom it is time to try; return when the next one's back-off ends."""
        now = self._clock.steady()
        waiting = [
            pod
            for pod in self._api.pods.values()
            if not pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending"
        ]
        used = {}
        for each in self._api.pods.values():
            if _holds(each):
                used.setdefault(each["spec"]["nodeName"], Counter()).update(_asked(each))
        before, self._tries = self._tries, {}
        for pod in sorted(waiting, key=lambda each: each["metadata"]["creationTimestamp"]):
            uid = pod["metadata"]["uid"]
            tried = self._tries[uid] = before.get(uid) or _Tried()
            if tried.woken and now >= tried.again and not pod["spec"].get("schedulingGates"):
                tried.fail(now)
                self._place(pod, used)
        return min((each.again for each in self._tries.values() if each.woken), default=math.inf)

    def _place(self, pod, used):
        reasons = Counter()
        for node in self._api.nodes.values():
            why = _obstacle(pod, node, used.get(node["metadata"]["name"], {}))
            if why is None:
                used.setdefault(node["metadata"]["name"], Counter()).update(_asked(pod))
                self._bind(pod, node["metadata"]["name"])
                return
            reasons[why] += 1
        listed = ", ".join(f"{n} {why}" for why, n in sorted(reasons.items()))
        text = f"0/{len(self._api.nodes)} nodes are available: {listed}."
        told = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": text,
        }
        if pod["status"].get("conditions") != [told]:
            self._api.put(_with_status(pod, conditions=[told]))

    def _bind(self, pod, node):
        bound = _with_status(pod, conditions=[{"type": "PodScheduled", "status": "True"}])
        self._api.put({**bound, "spec": {**bound["spec"], "nodeName": node}})
        self._ends[pod["metadata"]["uid"]] = self._clock.steady() + START_SECONDS, "Running"


class _Tried:
    """What the scheduling queue remembers of a pod."""

    def __init__(self):
        self.woken = True
        """The cluster has changed since it was tried last."""
        self.again = 0.0
        self._backoff = FIRST_BACKOFF

    def fail(self, now):
        self.woken, self.again = False, now + self._backoff
        self._backoff = min(LONGEST_BACKOFF, 2 * self._backoff)


def _with_status(pod, **status):
    return {**pod, "status": {**pod["status"], **status}}


def _holds(pod):
    return pod["spec"].get("nodeName") and pod["status"]["phase"] in ("Pending", "Running")


def _asked(pod):
    requests = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    return {name: int(amount) for name, amount in requests.items()}


def _obstacle(pod, node, used):
    """kube-scheduler's words for the first filter that a node does not pass; None if it does."""
    if node["spec"].get("unschedulable"):
        return "node(s) were unschedulable"
    if any(
        not any(_tolerates(each, taint) for each in pod["spec"].get("tolerations", ()))
        for taint in node["spec"].get("taints", ())
    ):
        return "node(s) had untolerated taint(s)"
    labels = node["metadata"]["labels"]
    if any(labels.get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
        return "node(s) didn't match Pod's node affinity/selector"
    for name, amount in _asked(pod).items():
        if amount > int(node["status"]["allocatable"].get(name, 0)) - used.get(name, 0):
            return f"Insufficient {name}"
    return None


def _tolerates(toleration, taint):
    return (
        toleration.get("key") in (None, taint["key"])
        and toleration.get("effect") in (None, taint["effect"])
        and (
            toleration.get("operator") == "Exists" or toleration.get("value") == taint.get("value")
        )
    )


def time_of(seconds):
    """RFC 3339 in whole seconds, as the API server writes creation times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
