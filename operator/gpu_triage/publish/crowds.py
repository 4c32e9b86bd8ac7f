"""Which pods of a crowd get Events: of one owner's pods with one word, the oldest few.

A Job of 3,000 pods would else make 3,000 Warnings that all say the same. Who is oldest stands in
the pods themselves, so the answer is the same after a restart.
"""

from bisect import bisect_left, insort

from gpu_triage.core.causes import Cause
from gpu_triage.core.pod_facts import PodFacts

_Crowd = tuple[str, str, Cause]
_Member = tuple[float, str, str]


class Crowds:
    """Pods with words, by whose they are."""

    def __init__(self, most: int) -> None:
        """Takes how many of a crowd get Events."""
        self._most = most
        self._members: dict[_Crowd, list[_Member]] = {}
        self._places: dict[str, tuple[_Crowd, _Member]] = {}

    def join(self, pod: PodFacts, cause: Cause) -> None:
        """Takes a pod with its word; one that nobody controls is in no crowd."""
        crowd = (pod.namespace, pod.workload, cause)
        place = (crowd, (pod.created or 0.0, pod.name, pod.uid))
        if self._places.get(pod.uid) == place:
            return
        self.leave(pod.uid)
        if pod.workload:
            self._places[pod.uid] = place
            insort(self._members.setdefault(crowd, []), place[1])

    def leave(self, uid: str) -> None:
        """Forgets a pod, or that it has a word."""
        place = self._places.pop(uid, None)
        if place is None:
            return
        crowd, member = place
        members = self._members[crowd]
        del members[bisect_left(members, member)]
        if not members:
            del self._members[crowd]

    def among_oldest(self, uid: str) -> bool:
        """Whether a pod may have Events."""
        place = self._places.get(uid)
        if place is None:
            return True
        crowd, member = place
        members = self._members[crowd]
        return len(members) <= self._most or member <= members[self._most - 1]
