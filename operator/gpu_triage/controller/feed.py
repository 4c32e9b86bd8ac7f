"""What is known of the watch of one kind: whether all of it has been read, and may still be.

kopf does not tell its handlers when a list is complete, so that is noted where the bytes pass.
"""

import logging
from collections.abc import Callable, Iterable

from gpu_triage.controller.sieve import Sieve
from gpu_triage.core.causes import Detail

log = logging.getLogger(__name__)

REFUSED_SECONDS = 10.0
"""A refusal is believed after so long: an API server that has just started refuses for a moment."""
STALE_SECONDS = 150.0
"""Bookmarks come about every minute, so a watch that is silent for longer is dead."""
PATIENCE = 2 / 3
"""The part of that time after which a silent watch is opened anew: it may be the watch alone."""


class Feed:
    """One kind of objects: its list, its watch, and what the handlers have taken of it."""

    def __init__(
        self,
        kind: str,
        group: str,
        version: str,
        *,
        optional: bool = False,
        sieve: Sieve | None = None,
        stale_seconds: float = STALE_SECONDS,
        rights: str = "kubectl apply -f deploy/rbac",
        clock: Callable[[], float],
    ) -> None:
        """Nothing has been read yet.

        Args:
            kind: the plural, as in paths and rights.
            group: the API group; empty for the core one.
            version: the API version.
            optional: a refused read counts as "there is none".
            sieve: what is left out; None leaves nothing out.
            stale_seconds: how long it may be silent before nobody relies on it any more.
            rights: how to give the operator the right to read it.
            clock: seconds that never go back.
        """
        self.kind = kind
        self.group = group
        self.version = version
        self.optional = optional
        self.path = f"/apis/{group}/{version}/{kind}" if group else f"/api/{version}/{kind}"
        self.synced = False
        """Every object of the first list has been handled."""
        self.sieve = sieve or Sieve()
        self.patience = stale_seconds * PATIENCE
        """A watch that is silent for so many seconds is to be opened anew."""
        self._stale_seconds = stale_seconds
        self._rights = rights
        self._clock = clock
        self._begun = clock()
        """When the last list began."""
        self._complete = False
        self._awaited: set[str] = set()
        self._refused: float | None = None
        self._heard = clock()

    def page(self, uids: Iterable[str], *, first: bool, last: bool) -> None:
        """Notes a page of a list: kopf is about to handle these, and the last page's ends."""
        if first:
            self._awaited, self._complete, self._begun = set(), False, self._clock()
        self._awaited |= set(uids)
        self.answered()
        self._complete = last
        self._settle()

    def handled(self, uid: str) -> None:
        """Notes that an object has passed its handler."""
        self._awaited.discard(uid)
        self._settle()

    def answered(self) -> None:
        """Notes a byte from the API server."""
        self._heard = self._clock()
        if self._refused is not None:
            self._refused = None
            log.info("Right is back kind=%s group=%r", self.kind, self.group)

    def refused(self, verb: str) -> None:
        """Notes that reading is not allowed, and says so once."""
        self._heard = self._clock()
        if self._refused is not None:
            return
        self._refused = self._clock()
        meaning = (
            "taken as there being none"
            if self.optional
            else "words that rest on it become unknown/forbidden"
        )
        log.log(
            logging.INFO if self.optional else logging.WARNING,
            "Right is missing verb=%s resource=%s group=%r meaning=%r fix=%r",
            verb,
            self.kind,
            self.group,
            meaning,
            f"let the operator list and watch {self.kind}: {self._rights}",
        )

    def unread(self) -> Detail | None:
        """Why words cannot rest on this kind now; None where they can."""
        if self._believes_refusal():
            return None if self.optional else Detail.FORBIDDEN
        return None if self.synced else Detail.NOT_SYNCED

    def settled(self) -> bool:
        """Whether waiting for this kind is over: it has been read, or cannot be."""
        return self.synced or self._believes_refusal()

    def age(self) -> float:
        """Seconds since the API server last said anything about this kind, bookmarks included."""
        return self._clock() - self._heard

    def stale(self) -> bool:
        """Whether the picture may be behind: the watch is silent, or a new list is being taken.

        A new list is taken piece by piece, and what it lacks comes last: until then the picture is
        half of one time and half of another.
        """
        return self.age() > self._stale_seconds or self._renewing()

    def problem(self) -> str:
        """Why this kind makes the operator not ready, in one line; empty where it does not."""
        if self._refused is not None and not self.optional:
            return f"{self.kind}: the right to list and watch them is missing"
        if not self.settled():
            return f"{self.kind}: not read yet"
        if self.age() > self._stale_seconds:
            return f"{self.kind}: no sign of life for {self.age():.0f} s"
        if self._renewing() and (lasts := self._clock() - self._begun) > self._stale_seconds:
            return f"{self.kind}: being read anew for {lasts:.0f} s"
        return ""

    def _whole(self) -> bool:
        return self._complete and not self._awaited

    def _renewing(self) -> bool:
        return self.synced and not self._whole() and not self._believes_refusal()

    def _believes_refusal(self) -> bool:
        return self._refused is not None and self._clock() - self._refused >= REFUSED_SECONDS

    def _settle(self) -> None:
        if self._whole():
            self.synced = True
