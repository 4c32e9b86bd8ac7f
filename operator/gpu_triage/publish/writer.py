"""The only place that writes to the API server: one queue, coalesced by pod.

Level-driven: what should stand on a pod is remembered, and the next write is worked out when its
turn comes, so an outdated one is never sent. The annotation comes first, its Event after the 200.
"""

import asyncio
import contextlib
import heapq
import logging
import math
from collections.abc import Callable

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish import annotations, events
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.target import Target
from gpu_triage.publish.write import Answer, Kind, Result, Send, UnreachableError, Write, meaning

log = logging.getLogger(__name__)

BACKOFF_SECONDS = 1.0
MOST_SECONDS = 60.0
OUTAGE_SECONDS = 15.0
"""The longest pause while the API server answers nobody: it is asked soon after it is back."""
REFUSED_SECONDS = 600.0
"""A write that was refused is not repeated for so long: the right may have been granted by then."""


class Writer:
    """Writes what differs, one request at a time."""

    def __init__(
        self,
        send: Send,
        now: Callable[[], float],
        counters: Counters,
        *,
        domain: str,
        event_period: float,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """Starts held back: nothing is written before ``hold(False)``.

        Args:
            send: sends a request; raises UnreachableError where no answer came.
            now: seconds since 1970.
            counters: where requests are counted.
            domain: prefix of the annotation keys.
            event_period: seconds between two writes of an Event's series.
            may_write: asked before each write; while it is False none is made, and whoever makes
                it True calls ``hold(False)``.
        """
        self._send = send
        self._now = now
        self._counters = counters
        self._domain = domain
        self._event_period = event_period
        self._may_write = may_write
        self._held = True
        self._targets: dict[str, Target] = {}
        self._removals: dict[str, None] = {}
        self._changes: dict[str, None] = {}
        self._later: list[tuple[float, str]] = []
        self._paused_until = 0.0
        self._outages = 0
        self._complained: set[Kind] = set()
        self._wake = asyncio.Event()

    def want(self, pod: PodFacts, standing: Standing | None) -> None:
        """Says what should stand on a pod from now on; None: nothing of ours."""
        target = self._targets.get(pod.uid)
        if target is None:
            if standing is None and not pod.published:
                return
            target = self._targets[pod.uid] = Target(pod, standing)
        target.pod, target.standing = pod, standing
        self._plan(target)

    def leave(self, uid: str) -> None:
        """Leaves a pod as it is: what was to be written to it is dropped."""
        self._targets.pop(uid, None)
        self._unqueue(uid)

    def hold(self, held: bool) -> None:
        """Holds every write back, or lets them go.

        They are held while the picture of the cluster is not to be trusted.
        """
        self._held = held
        self._wake.set()

    async def run(self) -> None:
        """Writes for ever."""
        while True:
            self._wake.clear()
            wait = await self.step()
            if wait > 0:
                timeout = None if math.isinf(wait) else wait
                # Not wait_for: in Python 3.11 it can swallow the cancellation that ends this task.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await self._wake.wait()

    async def step(self) -> float:
        """Makes one write where one is due; returns for how many seconds none is."""
        now = self._now()
        if self._held or not self._may_write():
            return math.inf
        if now < self._paused_until:
            return self._paused_until - now
        self._take_due(now)
        uid = next(iter(self._removals or self._changes), None)
        if uid is None:
            return self._later[0][0] - now if self._later else math.inf
        self._unqueue(uid)
        target = self._targets[uid]
        write = target.next_write(now, self._domain, self._event_period)
        if write is not None:
            await self._make(target, write)
        if self._targets.get(uid) is target:
            self._plan(target)
        return 0

    def _plan(self, target: Target) -> None:
        """Queues a pod that needs a write, else notes when to look at it again."""
        uid, now = target.pod.uid, self._now()
        self._unqueue(uid)
        if target.next_write(now, self._domain, self._event_period) is not None:
            (self._removals if target.standing is None else self._changes)[uid] = None
            self._wake.set()
        elif not target.gone:
            due = target.look_again(now)
            if due != target.due and not math.isinf(due):
                heapq.heappush(self._later, (due, uid))
                self._wake.set()
            target.due = due
        self._counters.queued = len(self._removals) + len(self._changes)

    def _take_due(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            due, uid = heapq.heappop(self._later)
            target = self._targets.get(uid)
            if target is not None and target.due == due:
                target.due = math.inf
                self._plan(target)

    def _unqueue(self, uid: str) -> None:
        self._removals.pop(uid, None)
        self._changes.pop(uid, None)
        self._counters.queued = len(self._removals) + len(self._changes)

    async def _make(self, target: Target, write: Write) -> None:
        # The pod may change while the answer is on its way; this is what was written about.
        pod, standing = target.pod, target.standing
        try:
            answer = await self._send(write)
        except UnreachableError as error:
            self._count(write, Result.RETRY)
            self._pause(0.0)
            log.debug("Write got no answer kind=%s pod=%s why=%s", write.kind, pod.key, error)
            return
        result = meaning(write, answer)
        self._count(write, result)
        if answer.status in (401, 429):
            self._pause(answer.retry_after or 0.0)
            return
        self._outages = 0
        if result is Result.RETRY:
            pause = min(MOST_SECONDS, BACKOFF_SECONDS * 2 ** min(target.failures, 6))
            target.failures += 1
            target.not_before = self._now() + max(pause, answer.retry_after or 0.0)
            log.debug("Write failed kind=%s pod=%s answer=%r", write.kind, pod.key, answer)
            return
        target.failures = 0
        match result:
            case Result.OK | Result.EXISTS:
                self._complained.discard(write.kind)
                self._succeeded(target, write, pod, standing)
            case Result.GONE if write.kind is Kind.SERIES:
                target.told = None  # the Event has expired and is made again
            case Result.GONE:
                target.gone = True
            case Result.CONFLICT:
                # The watch brings the pod as it is now, and it is judged anew.
                target.not_before = self._now() + BACKOFF_SECONDS
            case _:
                target.refused, target.refused_until = write, self._now() + REFUSED_SECONDS
                self._complain(write, answer, result, pod)

    def _succeeded(
        self, target: Target, write: Write, pod: PodFacts, standing: Standing | None
    ) -> None:
        if write.kind in (Kind.EVENT, Kind.SERIES):
            assert standing is not None  # only a word that stands has an Event
            target.told = events.made(standing, self._now(), self._event_period)
            return
        target.echo = (pod.published, annotations.values(standing))
        if standing is None:
            log.info("Removed verdict pod=%s", pod.key)
        else:
            log.info(
                "Published verdict pod=%s cause=%s detail=%s",
                pod.key,
                standing.cause,
                standing.detail,
            )

    def _complain(self, write: Write, answer: Answer, result: Result, pod: PodFacts) -> None:
        if write.kind in self._complained or "NamespaceTerminating" in answer.causes:
            return
        self._complained.add(write.kind)
        refused = result is Result.REFUSED
        log.warning(
            "Write was not taken kind=%s pod=%s status=%d answer=%r fix=%r",
            write.kind,
            pod.key,
            answer.status,
            answer.message,
            _RIGHTS[write.kind] if refused else "report this, with the versions in use",
        )

    def _pause(self, at_least: float) -> None:
        """Lets the API server come back: it refuses everybody, not this one pod."""
        pause = min(OUTAGE_SECONDS, BACKOFF_SECONDS * 2 ** min(self._outages, 6))
        self._outages += 1
        self._paused_until = self._now() + max(pause, at_least)

    def _count(self, write: Write, result: Result) -> None:
        self._counters.writes[write.kind, result] += 1


_RIGHTS = {
    Kind.ANNOTATION: "let the operator patch pods/status: kubectl apply -f deploy/rbac",
    Kind.REMOVAL: "let the operator patch pods/status: kubectl apply -f deploy/rbac",
    Kind.EVENT: "let the operator create events (events.k8s.io): kubectl apply -f deploy/rbac",
    Kind.SERIES: "let the operator patch events (events.k8s.io): kubectl apply -f deploy/rbac",
}
