"""What is still to be written, and which of it comes next: one queue, coalesced by pod.

Level-driven: what should stand on a pod is remembered, and the next write is worked out when its
turn comes, so an outdated one is never made. Never two at once about one pod.
"""

import heapq
import math
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.publish.bucket import Bucket
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.crowds import Crowds
from gpu_triage.publish.queue import EVENTS, Queue, Rank
from gpu_triage.publish.refusals import Refusals
from gpu_triage.publish.target import Due, Moment, Refused, Target
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Kind, Write

REFUSED_SECONDS = 600.0
"""A write that was refused is not repeated for so long: the right may have been granted by then."""


class Flight(msgspec.Struct, frozen=True):
    """A write on its way, and what it was written about: both may be others before it begins."""

    target: Target
    due: Due
    write: Write
    pod: PodFacts
    standing: Standing | None


class Backlog:
    """What should stand on the pods, as far as it does not yet."""

    def __init__(
        self,
        now: Callable[[], float],
        clock: Callable[[], float],
        counters: Counters,
        terms: Terms,
        wake: Callable[[], None],
    ) -> None:
        """Is empty.

        Args:
            now: seconds since 1970.
            clock: seconds that never go back.
            counters: where it says how much is queued.
            terms: how much may be written.
            wake: called when the answer of ``pick`` may be another one now.
        """
        self._now = now
        self._clock = clock
        self._counters = counters
        self._terms = terms
        self._wake = wake
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

    @property
    def flying(self) -> int:
        """How many writes are on their way."""
        return len(self._flying)

    @property
    def removes(self) -> bool:
        """Whether something of ours is still to be taken off a pod."""
        first = self._queue.first()
        return first is not None and first[1] is Rank.REMOVAL

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

    def end(self) -> None:
        """From now on only removals are picked."""
        self._ending = True
        self._wake()

    def pick(self) -> Flight | float:
        """The next write, which is on its way by that; or for how many seconds there is none."""
        clock = self._clock()
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
            return Flight(target, due, write, target.pod, target.standing)
        return self._until_next(clock, closed)

    def granted(self, flight: Flight) -> None:
        """Notes that a write was not refused: others that were may be taken now."""
        if self._refusals.taken(flight.write.kind, flight.pod.namespace):
            for refused in [each for each in self._targets.values() if each.refused is not None]:
                self._plan(refused)

    def refused(self, flight: Flight, *, forbidden: bool, ending: bool) -> None:
        """Notes that the API server does not take a write.

        Args:
            flight: the write.
            forbidden: so it may be with all others of its kind.
            ending: its namespace is being deleted.
        """
        kind, clock = flight.write.kind, self._clock()
        if forbidden:
            self._refusals.refused(kind, flight.pod.namespace, clock, ending=ending)
        flight.target.refused = Refused(
            kind, flight.due.says, clock + REFUSED_SECONDS, self._refusals.reopened
        )

    def landed(self, flight: Flight) -> None:
        """Notes that a write is on its way no more: the next about its pod may be picked."""
        self._flying.discard(flight.pod.uid)
        if (current := self._targets.get(flight.pod.uid)) is not None:
            self._plan(current)

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
            self._wake()
        else:
            self._queue.drop(uid)
        # Also while it is queued: what comes to be due meanwhile may be worth more.
        if again != target.due and not math.isinf(again):
            heapq.heappush(self._later, (again, uid))
            self._wake()
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
