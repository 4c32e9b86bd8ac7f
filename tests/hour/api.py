"""A pretended API server in memory: it keeps objects, takes the operator's writes, tells the watch.

What the real one answers was measured on it (see the end-to-end tests); here are only the answers
that matter to the writer: the uid as precondition, server-side apply's removals, Events that exist
already or have expired.
"""

import asyncio
import json
import re
from collections import deque

from gpu_triage.publish.write import Answer

ANSWER_SECONDS, WATCH_SECONDS = 0.005, 0.02
EVENT_SECONDS = 3600.0
"""An Event is forgotten so long after its last change."""
_POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/status")
_EVENT = re.compile(r"/apis/events.k8s.io/v1/namespaces/([^/]+)/events(?:/([^/?]+))?")


class PretendApi:
    """Pods, nodes and Events. An object is never changed, but replaced by another.

    Attributes:
        pods, nodes: raw objects by uid.
        events: by namespace and name.
        requests: how many writes were asked for.
        changed: set whenever an object has changed.
        fault: awaited with each write; what it returns is answered, if anything.
    """

    def __init__(self, clock, diary):
        self._clock, self._diary = clock, diary
        self.pods, self.nodes, self.events = {}, {}, {}
        self._uids = {}
        self._lines = deque()
        self.requests = 0
        self.changed = asyncio.Event()
        self.fault = _none
        self.told = lambda what, raw: None
        """The watch: told of every change."""

    def put(self, raw):
        """Make or change an object."""
        of = self._of(raw)
        what = "MODIFIED" if raw["metadata"]["uid"] in of else "ADDED"
        of[raw["metadata"]["uid"]] = raw
        self._uids[_name(raw)] = raw["metadata"]["uid"]
        self._tell(what, raw)

    def drop(self, raw):
        """Delete an object."""
        if self._of(raw).pop(raw["metadata"]["uid"], None) is not None:
            self._tell("DELETED", raw)

    def pod(self, namespace, name):
        """The pod of this name, or None."""
        return self.pods.get(self._uids.get((namespace, name)))

    async def send(self, write):
        """Answer a write."""
        self.requests += 1
        await asyncio.sleep(ANSWER_SECONDS)
        answer = await self.fault(write)
        if answer is None:
            body = json.loads(write.body)
            if found := _POD.match(write.path):
                answer = self._apply(body, *found.groups())
            elif write.method == "POST":
                answer = self._create(body)
            else:
                answer = self._renew(body, *_EVENT.match(write.path).groups())
        await asyncio.sleep(ANSWER_SECONDS)
        return answer

    def _apply(self, body, namespace, name):
        pod = self.pod(namespace, name)
        if pod is None:
            return Answer(404)
        if pod["metadata"]["uid"] != body["metadata"]["uid"]:
            return Answer(422, causes=("metadata.uid",))
        mine = body["metadata"].get("annotations", {})
        there = pod["metadata"].get("annotations", {})
        # Nobody else writes keys of this domain here, so all of them are what was applied before.
        others = {key: value for key, value in there.items() if "gpu-triage.io/" not in key}
        if {**others, **mine} != there:
            marked = {**pod["metadata"], "annotations": {**others, **mine}}
            self.put({**pod, "metadata": marked})
        return Answer(200)

    def _create(self, event):
        key = event["metadata"]["namespace"], event["metadata"]["name"]
        if self._there(key) is not None:
            return Answer(409, reason="AlreadyExists")
        self.events[key] = event, self._clock.steady()
        self._diary.event(event)
        return Answer(201)

    def _renew(self, body, namespace, name):
        event = self._there((namespace, name))
        if event is None:
            return Answer(404)
        event = {**event, **body}
        self.events[namespace, name] = event, self._clock.steady()
        self._diary.event(event)
        return Answer(200)

    def _there(self, key):
        event, changed = self.events.get(key, (None, 0.0))
        return event if self._clock.steady() - changed < EVENT_SECONDS else None

    def _of(self, raw):
        return self.pods if raw["kind"] == "Pod" else self.nodes

    def _tell(self, what, raw):
        self.changed.set()
        if raw["kind"] == "Pod":
            self._diary.pod(raw)
        self._lines.append((what, raw))
        # Timers of one moment go off in any order; a watch tells in the order of the changes.
        asyncio.get_running_loop().call_later(
            WATCH_SECONDS, lambda: self.told(*self._lines.popleft())
        )


def _name(raw):
    return raw["metadata"].get("namespace"), raw["metadata"]["name"]


async def _none(_):
    """No fault."""
