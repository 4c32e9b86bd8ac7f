"""What is known of the watch of one kind: whether all of it has been read, and may still be.

kopf tells its handlers neither when a list is complete nor which objects a new list lacks, so both
are noted where the bytes pass.
"""

import logging
from collections.abc import Callable, Iterable

from gpu_triage.core.causes import Detail

log = logging.getLogger(__name__)

REFUSED_SECONDS = 10.0
"""A refusal is believed after so long: an API server that has just started refuses for a moment."""
STALE_SECONDS = 150.0
"""Bookmarks come about every minute, so a watch that is silent for longer is dead."""


class Feed:
    """One kind of objects: its list, its watch, and what the handlers have taken of it."""

    def __init__(
        self,
        kind: str,
        group: str,
        version: str,
        *,
        optional: bool = False,
        on_listed: Callable[[set[str]], None],
        clock: Callable[[], float],
    ) -> None:
        """Nothing has been read yet.

        Args:
            kind: the plural, as in paths and rights.
            group: the API group; empty for the core one.
            version: the API version.
            optional: a refused read counts as "there is none".
            on_listed: told the uids of a list once it is complete: what is not among them is gone.
            clock: seconds that never go back.
        """
        self.kind = kind
        self.group = group
        self.version = version
        self.optional = optional
        self.path = f"/apis/{group}/{version}/{kind}" if group else f"/api/{version}/{kind}"
        self.synced = False
        """Every object of the first list has been handled."""
        self._on_listed = on_listed
        self._clock = clock
        self._listing: set[str] = set()
        self._complete = False
        self._awaited: set[str] = set()
        self._refused: float | None = None
        self._heard = clock()

    def page(self, uids: Iterable[str], *, first: bool, last: bool) -> None:
        """Notes a page of a list that is about to be handled."""
        if first:
            self._listing, self._awaited, self._complete = set(), set(), False
        found = set(uids)
        self._listing |= found
        self._awaited |= found
        self.answered()
        if last:
            listed, self._listing, self._complete = self._listing, set(), True
            self._on_listed(listed)
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
            f"let the operator list and watch {self.kind}: kubectl apply -f deploy/rbac",
        )

    def unread(self) -> Detail | None:
        """Why words cannot rest on this kind now; None where they can."""
        if self._believes_refusal():
            return None if self.optional else Detail.FORBIDDEN
        return None if self.synced else Detail.NOT_SYNCED

    def settled(self) -> bool:
        """Whether waiting for this kind is over: it has been read, or cannot be."""
        return self.synced or self._believes_refusal()

    def stale(self) -> bool:
        """Whether the watch has been silent for so long that changes may have been missed."""
        return self._clock() - self._heard > STALE_SECONDS

    def problem(self) -> str:
        """Why this kind makes the operator not ready, in one line; empty where it does not."""
        if self._refused is not None and not self.optional:
            return f"{self.kind}: the right to list and watch them is missing"
        if not self.settled():
            return f"{self.kind}: not read yet"
        if self.stale():
            return f"{self.kind}: no sign of life for {self._clock() - self._heard:.0f} s"
        return ""

    def _believes_refusal(self) -> bool:
        return self._refused is not None and self._clock() - self._refused >= REFUSED_SECONDS

    def _settle(self) -> None:
        if self._complete and not self._awaited:
            self.synced = True
