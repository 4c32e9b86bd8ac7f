"""Which waiting pods stand in which queue: one for each shape, scheduler and priority."""

from collections.abc import Collection, Generator, Sequence
from typing import TypeVar

from gpu_triage.cluster.census import Census
from gpu_triage.cluster.queue import Claimant, Queue
from gpu_triage.cluster.rows import Rows
from gpu_triage.cluster.sites import Move, Sites
from gpu_triage.core.detail import Finding
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts, Shape
from gpu_triage.core.survey import Survey

Line = tuple[Shape, Claimant]
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that lets others in between."""


class Queues:
    """All queues, and the rows that they rest on."""

    def __init__(self, picture: Picture, sites: Sites) -> None:
        self._picture = picture
        self._sites = sites
        self._rows = Rows(picture, sites)
        self._queues: dict[Line, Queue] = {}
        self._line_of: dict[str, Line] = {}
        self._new: list[Queue] = []
        self._left: set[Line] = set()

    def put(self, pod: PodFacts) -> None:
        """Takes a pod as it is now to where it belongs."""
        line = pod.shape, Claimant(pod.scheduler, pod.priority)
        if self._line_of.get(pod.uid, line) != line:
            self.drop(pod.uid)
        queue = self._queues.get(line)
        if queue is None:
            queue = Queue(self._rows.take_up(pod.shape), self._sites, line[1])
            self._queues[line] = queue
            self._new.append(queue)
        queue.put(pod)
        self._line_of[pod.uid] = line

    def drop(self, uid: str) -> None:
        """Takes a pod away, wherever it stands."""
        line = self._line_of.pop(uid, None)
        if line is not None:
            self._queues[line].drop(uid)
            self._left.add(line)

    def told(self, pod: PodFacts) -> Finding:
        """What the nodes say to a pod, as of the last renewal."""
        return self._queues[self._line_of[pod.uid]].told(pod)

    def survey(self, pod: PodFacts) -> Survey | None:
        """A pod held against every node; None for one that stands in no queue."""
        line = self._line_of.get(pod.uid)
        return self._queues[line].survey(pod) if line is not None else None

    def take(self, moves: Sequence[Move], nominated: Collection[str]) -> Steps[None]:
        """Takes nodes as they are now, in steps.

        Args:
            moves: what became of them.
            nominated: nodes to which nominations may be other ones than before.
        """
        yield from self._rows.update(moves)
        for queue in self._queues.values():
            queue.reserve(nominated)
            yield

    def renew(self, census: Census) -> Steps[list[str]]:
        """Asks the nodes again where something has changed, in steps.

        Returns:
            The pods it matters to.
        """
        self._close()
        yield from self._rows.fill()
        for queue in self._new:
            queue.reserve(self._picture.nominated)
            yield
        self._new = []
        concerned: list[str] = []
        for queue in self._queues.values():
            concerned += queue.renew(census)
            yield
        return concerned

    def _close(self) -> None:
        """Forgets queues in which nobody stands, and rows that nobody asks."""
        for line in self._left:
            queue = self._queues[line]
            if not queue.pods:
                del self._queues[line]
                self._rows.leave(queue.row)
        self._left = set()
