"""The only place that writes to the API server.

Sends what the backlog picks, and tells it what became of that. The annotation comes first, its
Event after the 200.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.publish.backlog import Backlog, Flight
from gpu_triage.publish.complaints import Complaints
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.outage import Outage
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Kind, Result, Send, UnreachableError, Write, meaning

log = logging.getLogger(__name__)

CONNECTIONS = 8
"""Requests on their way at once: with them 50 a second are reached while an answer takes up to
160 ms."""
BACKOFF_SECONDS = 1.0
MOST_SECONDS = 60.0


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
        self._outage = Outage()
        self._complaints = Complaints()
        self._wake = asyncio.Event()
        self._backlog = Backlog(now, self._clock, counters, terms, self._wake.set)

    def want(self, pod: PodFacts, standing: Standing | None) -> None:
        """Says what should stand on a pod from now on; None: nothing of ours."""
        self._backlog.want(pod, standing)

    def leave(self, uid: str) -> None:
        """Leaves a pod as it is: what was to be written to it is dropped."""
        self._backlog.leave(uid)

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
                    if self._backlog.flying < CONNECTIONS:
                        picked = self._pick()
                        if isinstance(picked, Flight):
                            group.create_task(self._make(picked))
                            continue
                        wait = picked
                    await self._rest(wait)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def step(self) -> float:
        """Makes one write where one is due; returns for how many seconds none is."""
        picked = self._pick()
        if isinstance(picked, Flight):
            await self._make(picked)
            return 0.0
        return picked

    async def finish(self, seconds: float) -> None:
        """Makes the removals that wait, for so long at most, and nothing else any more.

        ``run`` goes on meanwhile. What is left is removed at the next start.
        """
        self._backlog.end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._held and (self._backlog.flying or self._backlog.removes):
                    await asyncio.sleep(0.02)

    async def _rest(self, seconds: float) -> None:
        timeout = None if math.isinf(seconds) else seconds
        # Not wait_for: in Python 3.11 it can swallow the cancellation that ends this task.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wake.wait()

    def _pick(self) -> Flight | float:
        """The next write, or for how many seconds there is none."""
        if self._held or not self._may_write():
            return math.inf
        if (pause := self._outage.left(self._clock())) > 0:
            return pause
        return self._backlog.pick()

    async def _make(self, flight: Flight) -> None:
        try:
            await self._ask(flight)
        finally:
            self._backlog.landed(flight)
            self._wake.set()

    async def _ask(self, flight: Flight) -> None:
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
        if result is not Result.REFUSED:
            self._backlog.granted(flight)
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
                self._backlog.refused(flight, forbidden=result is Result.REFUSED, ending=ending)
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
