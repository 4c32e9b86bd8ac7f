"""The only place that writes to the API server: one queue, coalesced by pod.

Level-driven: what should stand on a pod is remembered, and the next write is worked out when its
turn comes, so an outdated one is never sent. The annotation comes first, its Event after the 200.
"""

import asyncio
import contextlib
import heapq
import logging
import math
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish.bucket import Bucket
from gpu_triage.publish.complaints import Complaints
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.crowds import Crowds
from gpu_triage.publish.outage import Outage
from gpu_triage.publish.queue import EVENTS, Queue, Rank
from gpu_triage.publish.refusals import Refusals
from gpu_triage.publish.target import Due, Moment, Refused, Target
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Kind, Result, Send, UnreachableError, Write, meaning

log = logging.getLogger(__name__)

CONNECTIONS = 8
"""Requests on their way at once, never two about one pod: with them 50 a second are reached while
an answer takes up to 160 ms."""
BACKOFF_SECONDS = 1.0
MOST_SECONDS = 60.0
REFUSED_SECONDS = 600.0
"""A write that was refused is not repeated for so long: the right may have been granted by then."""


class _Flight(msgspec.Struct, frozen=True):
    """A write on its way, and what it was written about: both may be others before it begins."""

    target: Target
    due: Due
    write: Write
    pod: PodFacts
    standing: Standing | None


class Writer:
    """Writes what differs, as fast as the terms allow."""

    def __init__(
        self,
        send: Send,
        now: Callable[[], float],
        counters: Counters,
        terms: Terms,
        *,
        clock: Callable[[], float] | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """Starts held back: nothing is written before ``hold(False)``.

        Args:
            send: sends a request; raises UnreachableError where no answer came.
            now: seconds since 1970.
            counters: where requests are counted.
            terms: how much may be written.
            clock: seconds that never go back; ``now`` where it is not given.
            may_write: asked before each write; while it is False none is made, and whoever makes
                it True calls ``hold(False)``.
        """
        self._send = send
        self._now = now
        self._clock = clock or now
        self._counters = counters
        self._terms = terms
        self._may_write = may_write
        self._held = True
        self._ending = False
        self._targets: dict[str, Target] = {}
        self._queue = Queue()
        self._crowds = Crowds(terms.event_pods)
        self._bucket = Bucket(terms.rate, terms.burst)
        self._refreshes = Bucket(terms.refreshes, terms.refreshes)
        self._refusals = Refusals()
        self._flying: set[str] = set()
        """Pods about which a request is on its way."""
        self._later: list[tuple[float, str]] = []
        self._outage = Outage()
        self._complaints = Complaints()
        self._wake = asyncio.Event()

    def want(self, pod: PodFacts, standing: Standing | None) -> None:
        """Says what should stand on a pod from now on; None: nothing of ours."""
        target = self._targets.get(pod.uid)
        if target is None:
            if standing is None and not pod.published:
                return
            target = self._targets[pod.uid] = Target(pod, standing)
            target.begin(self._terms, self._clock())
        else:
            target.take(pod, standing, self._terms, self._clock())
        if standing is None:
            self._crowds.leave(pod.uid)
        else:
            self._crowds.join(pod, standing.cause)
        self._plan(target)

    def leave(self, uid: str) -> None:
        """Leaves a pod as it is: what was to be written to it is dropped."""
        self._targets.pop(uid, None)
        self._crowds.leave(uid)
        self._queue.drop(uid)
        self._count_queued()

    def hold(self, held: bool) -> None:
        """Holds every write back, or lets them go.

        They are held while the picture of the cluster is not to be trusted.
        """
        if held is not self._held:
            self._held = held
            self._wake.set()

    async def run(self) -> None:
        """Writes for ever."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._wake.clear()
                    wait = math.inf
                    if len(self._flying) < CONNECTIONS:
                        picked = self._pick()
                        if isinstance(picked, _Flight):
                            group.create_task(self._make(picked))
                            continue
                        wait = picked
                    await self._rest(wait)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def step(self) -> float:
        """Makes one write where one is due; returns for how many seconds none is."""
        picked = self._pick()
        if isinstance(picked, _Flight):
            await self._make(picked)
            return 0.0
        return picked

    async def finish(self, seconds: float) -> None:
        """Makes the removals that wait, for so long at most, and nothing else any more.

        ``run`` goes on meanwhile. What is left is removed at the next start.
        """
        self._ending = True
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._held and (self._flying or self._removes()):
                    await asyncio.sleep(0.02)

    def _removes(self) -> bool:
        first = self._queue.first()
        return first is not None and first[1] is Rank.REMOVAL

    async def _rest(self, seconds: float) -> None:
        timeout = None if math.isinf(seconds) else seconds
        # Not wait_for: in Python 3.11 it can swallow the cancellation that ends this task.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wake.wait()

    def _pick(self) -> _Flight | float:
        """The next write, or for how many seconds there is none."""
        if self._held or not self._may_write():
            return math.inf
        clock = self._clock()
        if (pause := self._outage.left(clock)) > 0:
            return pause
        self._take_due(clock)
        while (first := self._queue.first(closed := self._closed(clock))) is not None:
            uid, rank = first
            target = self._targets[uid]
            due, again = target.next(self._terms, self._moment(target))
            if due is None or due.rank is not rank:
                self._put(target, due, again)
                continue
            wait = self._bucket.wait(clock)
            if rank is Rank.NUMBERS:
                wait = max(wait, self._refreshes.wait(clock))
            if wait:
                return min(wait, self._until_next(clock, closed))
            write = due.make()
            assert write is not None  # it is due
            self._bucket.take(clock)
            if rank is Rank.NUMBERS:
                self._refreshes.take(clock)
            self._refusals.trying(write.kind, target.pod.namespace, clock)
            self._flying.add(uid)
            self._queue.drop(uid)
            self._count_queued()
            return _Flight(target, due, write, target.pod, target.standing)
        return self._until_next(clock, closed)

    def _closed(self, clock: float) -> dict[Rank, float]:
        """The ranks of which nothing may be written now, and for how long."""
        if self._ending:
            return {rank: math.inf for rank in Rank if rank is not Rank.REMOVAL}
        kinds = {rank: Kind.EVENT if rank in EVENTS else Kind.ANNOTATION for rank in Rank}
        until = {rank: self._refusals.until(kind) for rank, kind in kinds.items()}
        return {rank: end - clock for rank, end in until.items() if end > clock}

    def _until_next(self, clock: float, closed: Mapping[Rank, float]) -> float:
        due = self._later[0][0] - clock if self._later else math.inf
        return min([due, *closed.values()]) if self._queue else due

    def _moment(self, target: Target) -> Moment:
        pod = target.pod
        return Moment(
            self._now(),
            self._clock(),
            self._crowds.among_oldest(pod.uid),
            partial(self._refusals.until_in, pod.namespace),
            self._refusals.reopened,
        )

    def _plan(self, target: Target) -> None:
        """Queues a pod that needs a write, else notes when to look at it again."""
        if target.pod.uid not in self._flying:  # else when the answer is here
            self._put(target, *target.next(self._terms, self._moment(target)))

    def _put(self, target: Target, due: Due | None, again: float) -> None:
        uid = target.pod.uid
        if due is not None:
            self._queue.put(uid, due.rank)
            self._wake.set()
        else:
            self._queue.drop(uid)
        # Also while it is queued: what comes to be due meanwhile may be worth more.
        if again != target.due and not math.isinf(again):
            heapq.heappush(self._later, (again, uid))
            self._wake.set()
        target.due = again
        self._count_queued()

    def _take_due(self, clock: float) -> None:
        while self._later and self._later[0][0] <= clock:
            due, uid = heapq.heappop(self._later)
            target = self._targets.get(uid)
            if target is not None and target.due == due:
                target.due = math.inf
                self._plan(target)

    def _count_queued(self) -> None:
        self._counters.queued = len(self._queue)

    async def _make(self, flight: _Flight) -> None:
        uid = flight.pod.uid
        try:
            await self._ask(flight)
        finally:
            self._flying.discard(uid)
            self._wake.set()
        if (current := self._targets.get(uid)) is not None:
            self._plan(current)

    async def _ask(self, flight: _Flight) -> None:
        target, write, pod = flight.target, flight.write, flight.pod
        try:
            answer = await self._send(write)
        except UnreachableError as error:
            self._count(write, Result.RETRY)
            self._outage.pause(self._clock())
            log.debug("Write got no answer kind=%s pod=%s why=%s", write.kind, pod.key, error)
            return
        result = meaning(write, answer)
        self._count(write, result)
        if answer.status in (401, 429):
            self._outage.pause(self._clock(), answer.retry_after or 0.0)
            return
        self._outage.over()
        clock = self._clock()
        if result is Result.RETRY:
            pause = min(MOST_SECONDS, BACKOFF_SECONDS * 2 ** min(target.failures, 6))
            target.failures += 1
            target.not_before = clock + max(pause, answer.retry_after or 0.0)
            log.debug("Write failed kind=%s pod=%s answer=%r", write.kind, pod.key, answer)
            return
        target.failures = 0
        if result is not Result.REFUSED and self._refusals.taken(write.kind, pod.namespace):
            for refused in [each for each in self._targets.values() if each.refused is not None]:
                self._plan(refused)
        match result:
            case Result.OK | Result.EXISTS:
                self._complaints.taken(write.kind)
                target.succeeded(
                    write, pod, flight.standing, answer, self._terms, self._now(), clock
                )
                if write.kind in (Kind.ANNOTATION, Kind.REMOVAL):
                    _tell(pod, flight.standing)
            case Result.GONE if write.kind is Kind.SERIES:
                target.told = None  # the Event has expired and is made again
            case Result.GONE:
                target.gone = True
            case Result.CONFLICT:
                # The watch brings the pod as it is now, and it is judged anew.
                target.not_before = clock + BACKOFF_SECONDS
            case _:
                ending = "NamespaceTerminating" in answer.causes
                if result is Result.REFUSED:
                    self._refusals.refused(write.kind, pod.namespace, clock, ending=ending)
                target.refused = Refused(
                    write.kind, flight.due.says, clock + REFUSED_SECONDS, self._refusals.reopened
                )
                if not ending:
                    self._complaints.make(write, answer, result, pod.key)

    def _count(self, write: Write, result: Result) -> None:
        self._counters.writes[write.kind, result] += 1


def _tell(pod: PodFacts, standing: Standing | None) -> None:
    if standing is None:
        log.info("Removed verdict pod=%s", pod.key)
    else:
        log.info(
            "Published verdict pod=%s cause=%s detail=%s",
            pod.key,
            standing.cause,
            standing.detail,
        )
