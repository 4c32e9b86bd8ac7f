"""One pod: what should be said about it, what is known to be said, and the next write.

Nothing is remembered that a restart would need: what stands on the pod says how long the pod is to
be left alone.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from gpu_triage.cluster.settling import ALARMS
from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.publish import annotations, events
from gpu_triage.publish.events import Silence
from gpu_triage.publish.queue import Rank
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Answer, Kind, Write


class Moment(msgspec.Struct, frozen=True):
    """When and under which circumstances a pod is looked at."""

    now: float
    """Seconds since 1970, for what is written."""
    clock: float
    """Seconds that never go back, for what lasts."""
    speaks: bool
    """Whether the pod may have Events: it is not one of many."""
    closed: Callable[[Kind], float]
    """From when on a kind of write may be tried, by the clock."""
    reopened: int
    """How often writes were let through again after all had been refused."""


class Due(msgspec.Struct, frozen=True):
    """A write that a pod needs."""

    rank: Rank
    kind: Kind
    says: str
    at: float
    """From when on, by the clock."""
    make: Callable[[], Write | None]


class Refused(msgspec.Struct, frozen=True):
    """A write that was refused, and until when none that says the same is tried, by the clock."""

    kind: Kind
    says: str
    until: float
    reopened: int


class Target(msgspec.Struct):
    """One pod: what should be said about it, and what is known to be."""

    pod: PodFacts
    standing: Standing | None
    silence: Silence = Silence()
    echo: tuple[dict[str, str], dict[str, str]] | None = None
    """What the watch showed when we wrote, and what we wrote: our own write comes back later."""
    step: str | None = None
    """The next step that stands on the pod; None where that is not known."""
    said: float = -math.inf
    """When the text was written last."""
    wrote: tuple[dict[str, str], ...] = ()
    """What was written, the latest first: the watch shows it late."""
    written: float = -math.inf
    """When it was."""
    left: tuple[str, ...] = ()
    """Keys that we do not own alone, so that a write has left them standing: to be taken over."""
    taken_over: bool = False
    """They have been."""
    stubborn: frozenset[str] = frozenset()
    """Those that stand even so."""
    told: events.Told | None = None
    refused: Refused | None = None
    failures: int = 0
    not_before: float = 0.0
    due: float = math.inf
    """When it is looked at again without being asked for, by the clock."""
    gone: bool = False

    def begin(self, terms: Terms, clock: float) -> None:
        """Takes what stands on the pod for what an earlier life, or another, has said."""
        self.silence = events.silence(self.pod.published, self.standing, terms.event_gap)
        self.told, self.echo, self.step = None, None, None
        self.said = clock if self.pod.published else -math.inf

    def take(self, pod: PodFacts, standing: Standing | None, terms: Terms, clock: float) -> None:
        """Takes the pod as it is now, and what should be said of it."""
        other = pod.published not in (self.pod.published, *self.wrote)
        self.pod, self.standing = pod, standing
        if other and pod.published:
            self.begin(terms, clock)  # another replica has written, or somebody else

    def succeeded(
        self,
        write: Write,
        pod: PodFacts,
        standing: Standing | None,
        answer: Answer,
        terms: Terms,
        now: float,
        clock: float,
    ) -> None:
        """Notes that a write was taken, or had been before.

        Args:
            write: what was sent.
            pod: the pod as it was then.
            standing: what was to be said of it then.
            answer: what came back.
            terms: whose keys and Events they are.
            now: seconds since 1970.
            clock: seconds that never go back.
        """
        if write.kind in (Kind.EVENT, Kind.SERIES):
            assert standing is not None  # only a word that stands has an Event
            self.told = events.known(standing, now, terms.event_period, clock=clock)
            if write.kind is Kind.EVENT:
                new = answer.status < 400
                self.silence = events.made(self.silence, standing, now, terms.event_gap, new=new)
            return
        wanted = annotations.values(standing)
        own = [key for key in answer.annotations if terms.is_own(key)]
        left = sorted(key for key in own if terms.short(key) not in wanted)
        stands = {**wanted, **{terms.short(key): answer.annotations[key] for key in left}}
        self.echo = (pod.published, stands)
        self.wrote = (stands, *self.wrote)[:3]
        self.written = self.said = clock
        self.step = standing.step if standing is not None else None
        if self.left:
            self.left, self.taken_over = (), True  # the write that drops them is next
        elif self.taken_over:
            self.stubborn = frozenset(left)
        else:
            self.left = tuple(left)

    def there(self) -> dict[str, str]:
        """What stands on the pod, as far as is known."""
        if self.echo is not None and self.pod.published == self.echo[0]:
            return self.echo[1]
        self.echo = None
        return self.pod.published

    def next(self, terms: Terms, at: Moment) -> tuple[Due | None, float]:
        """The write that is due, and when to look again if nothing changes, by the clock.

        None while its word has no message yet: what stands on the pod stays until there is
        something to say, and what was to be said before is not true any more.
        """
        unsaid = self.standing is not None and not self.standing.message
        if self.gone or unsaid:
            return None, math.inf
        self._pass_over(terms, at)
        best, again = None, math.inf
        for each in self._needed(terms, at):
            when = max(each.at, self.not_before, self._refused_until(each, at))
            when = max(when, at.closed(each.kind))
            if when > at.clock:
                again = min(again, when)
            elif best is None or each.rank < best.rank:
                best = each
        if self.told is not None and self.told.renew > at.clock:
            again = min(again, self.told.renew)
        return best, again

    def _needed(self, terms: Terms, at: Moment) -> Iterator[Due]:
        there, wanted = self.there(), annotations.values(self.standing)
        there = {
            key: value for key, value in there.items() if terms.whole(key) not in self.stubborn
        }
        differs = {key for key in {*there, *wanted} if there.get(key) != wanted.get(key)}
        put_right = self.wrote[:1] == (wanted,) and not self.left
        begins = self.written + terms.again if put_right else 0.0
        if self.standing is None:
            if differs:
                yield Due(Rank.REMOVAL, Kind.REMOVAL, "", begins, self._removal)
            return
        says = annotations.spell(self.standing)
        publish = partial(annotations.publish, self.standing, terms.domain, self.left)
        if differs - {"message"} or "message" not in there:
            yield Due(Rank.WORD, Kind.ANNOTATION, says, begins, publish)
            return
        # An Event says what stands on the pod, though the numbers may be others by now.
        stands = msgspec.structs.replace(self.standing, message=there["message"])
        yield from self._events(stands, terms, at)
        step = self.standing.step
        if not differs:
            self.step = step if step is not None else self.step
        elif not self.standing.said.differs_in_holders_alone(there["message"]):
            news = self.step is not None and step is not None and step != self.step
            rank, pause = (Rank.FIX, terms.fix) if news else (Rank.NUMBERS, terms.refresh)
            yield Due(rank, Kind.ANNOTATION, says, max(begins, self.said + pause), publish)

    def _events(self, standing: Standing, terms: Terms, at: Moment) -> Iterator[Due]:
        kind = events.event_type(standing)
        if kind is None or not at.speaks:
            return
        told = self.told if events.is_of(self.told, standing) else None
        make = partial(events.change, standing, told, at.now, terms.event_period, clock=at.clock)
        if told is not None and told.made:
            yield Due(Rank.SERIES, Kind.SERIES, told.name, told.renew, make)
        else:
            name = events.name_of(standing, kind)
            wait = self.silence.ends(kind, name) - at.now
            if wait > 2 * terms.event_gap:
                wait = 0.0  # nobody is silent for so long: the day was set back
            if standing.detail in ALARMS:
                # Many a pod is placed before that, and its cluster was full for a moment only.
                wait = max(wait, min(terms.alarm, standing.since + terms.alarm - at.now))
            begins = max(told.renew if told is not None else 0.0, at.clock + wait)
            yield Due(Rank.EVENT, Kind.EVENT, name, begins, make)

    def _pass_over(self, terms: Terms, at: Moment) -> None:
        """Lets the time of an Event of one of many pass, until the next of its series."""
        standing = self.standing
        if standing is None or at.speaks:
            return
        of = events.is_of(self.told, standing)
        if not of or (self.told is not None and self.told.renew <= at.clock):
            made = of and self.told is not None and self.told.made
            self.told = events.known(
                standing, at.now, terms.event_period, clock=at.clock, made=made
            )

    def _removal(self) -> Write:
        where = (self.pod.namespace, self.pod.name, self.pod.uid)
        if self.left:
            return annotations.take_over(*where, self.left)
        return annotations.removal(*where)

    def _refused_until(self, due: Due, at: Moment) -> float:
        before = self.refused
        if before is None or before.reopened != at.reopened:
            return 0.0
        same = before.kind is due.kind and before.says == due.says
        return before.until if same else 0.0
