"""Which of several replicas leads, that is: which one writes.

They agree by a Lease. Whoever leads says so only as long as nobody else can: it begins nothing any
more a while before the Lease that it renewed last may be taken over, by a clock that goes on while
the process or the machine is stopped. So it also writes nothing when it wakes up too late.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import msgspec

from gpu_triage.controller.lease import Act, Seen, Spec, Timing, decide, given_back, held
from gpu_triage.publish.write import Answer, Send, UnreachableError, Write

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""Before the first write after a leader that gave the Lease back: the watch brings what it wrote
last. After one that did not, the time in which its Lease ran out is more than enough."""
SOMEBODY = "somebody"
"""Who may hold a Lease that has been deleted; no replica has this name."""
END_SECONDS = 0.5
"""The longest that a process which ends waits for its Lease to be given back."""

Ask = Callable[[str, str, bytes | None, float], Awaitable[tuple[int, Any]]]
"""Method, path, body and seconds in; status and document out. Raises UnreachableError."""


def boot_time() -> float:
    """Seconds by a clock that no one sets, and that runs on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: Spec = Spec()


class Election:
    """Takes, renews and gives back a Lease."""

    def __init__(
        self,
        ask: Ask,
        lease: str,
        me: str,
        timing: Timing,
        *,
        ready: Callable[[], bool],
        fit: Callable[[], bool],
        changed: Callable[[], None],
        clock: Callable[[], float] = boot_time,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Asks nothing yet.

        Args:
            ask: makes a request.
            lease: NAMESPACE/NAME of the Lease.
            me: a name that no other replica has.
            timing: how long the Lease lasts.
            ready: whether we could begin to write (see ``lease.decide``).
            fit: whether we may go on.
            changed: called when we lead, and when we do not any more.
            clock: seconds; see ``boot_time``.
            wall: seconds since 1970.
        """
        namespace, _, name = lease.partition("/")
        self._ask = ask
        self._lease = lease
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
        self._empty = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
        }
        self._me = me
        self._timing = timing
        self._ready = ready
        self._fit = fit
        self._changed = changed
        self._clock = clock
        self._wall = wall
        self._document: dict[str, Any] = self._empty
        """The Lease as it was last seen, with what others wrote into it."""
        self._seen: Seen | None = None
        self._term = 0
        self._until = self._given_up = -1.0
        self._under_way = 0
        self._leads = False
        """Whether we did when it was last told."""
        self._holder = "nobody"
        self._refusal = ""

    @property
    def term(self) -> int | None:
        """Which time it is that we lead; None while we do not. Right at every moment."""
        return self._term if self._clock() < self._until else None

    def problems(self) -> list[str]:
        """Why no replica can ever lead; nothing where one can."""
        return [f"lease {self._lease}: {self._refusal}"] if self._refusal else []

    async def send(self, send: Send, write: Write) -> Answer:
        """Makes a write if we lead, and gives it up before another can lead.

        Raises:
            UnreachableError: we do not lead, or no answer came in time.
        """
        left = self._given_up - self._clock()
        if self.term is None or left <= 0:
            raise UnreachableError("another replica may lead")
        self._under_way += 1
        try:
            async with asyncio.timeout(left):
                return await send(write)
        except TimeoutError:
            raise UnreachableError("no answer while the Lease lasted") from None
        finally:
            self._under_way -= 1

    async def run(self) -> None:
        """Takes part for ever."""
        while True:
            begun = self._clock()
            await self.step()
            await asyncio.sleep(self._pause(begun))

    def _pause(self, begun: float) -> float:
        """Until the next step: none after a request that took long, a leader has time for more."""
        now = self._clock()
        pause = max(0.0, begun + self._timing.retry - now)
        ends = self._seen.ends(self._timing) if self._seen is not None else now
        return min(pause, ends - now) if ends > now else pause

    async def step(self) -> None:
        """Looks once, and does once what is to be done."""
        try:
            if self.term is None:
                self._tell()
                await self._look()
            # Once more where somebody was faster, or where our last renewal went unanswered.
            if not await self._act():
                await self._act()
        except UnreachableError as error:
            log.debug("Lease could not be reached lease=%s why=%s", self._lease, error)
        self._tell()

    async def end(self) -> None:
        """Gives the Lease back, so that the next need not wait; nothing of ours is to run then."""
        self._until = -1.0
        with contextlib.suppress(UnreachableError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                # Again where a renewal was under way when we were told to end.
                while self._holds() and not await self._give_back():
                    pass
        self._seen = None

    async def _act(self) -> bool:
        """Does what is to be done; False where the Lease is not what we took it for."""
        seen, ready, fit = self._seen, self._ready(), self._fit()
        act = decide(seen, self._me, self._clock(), self._timing, ready=ready, fit=fit)
        match act:
            case Act.WAIT:
                return True
            case Act.GIVE_BACK:
                self._until = -1.0
                # What is under way ends before another can lead: here, or with the Lease.
                return bool(self._under_way) or await self._give_back()
            case _:
                free = act is Act.TAKE and seen is not None and not seen.spec.holder_identity
                return await self._hold(seen.spec if seen is not None else None, free=free)

    async def _hold(self, before: Spec | None, *, free: bool) -> bool:
        led = self.term is not None
        # Nobody can see the Lease renewed before we ask for it: from here on it lasts at least.
        asked = self._clock()
        if not await self._put(held(before, self._me, self._timing, self._wall())):
            return False
        if free:
            await asyncio.sleep(GRACE_SECONDS)
        if not led:
            self._term += 1
        self._until = asked + self._timing.deadline
        self._given_up = asked + self._timing.given_up
        return True

    def _holds(self) -> bool:
        return self._seen is not None and self._seen.spec.holder_identity == self._me

    async def _give_back(self) -> bool:
        assert self._seen is not None  # we hold it
        return await self._put(given_back(self._seen.spec, self._wall()))

    async def _look(self) -> None:
        status, document = await self._ask("GET", self._path, None, self._timing.patience)
        if status == 404:
            self._miss()
        elif status == 200:
            self._take(document)
        else:
            self._failed("get", status, document)

    async def _put(self, spec: dict[str, Any]) -> bool:
        """Makes the Lease say so; False, after another look, where it is not the one we knew.

        The resourceVersion in its metadata is the precondition. Where there is none the API server
        makes the Lease, and asks for the right to create it under this one name.
        """
        known = self._document
        body = msgspec.json.encode({**known, "spec": {**known.get("spec", {}), **spec}})
        status, document = await self._ask("PUT", self._path, body, self._timing.patience)
        if status in (200, 201):
            self._take(document)
            self._refusal = ""
            return True
        # 409: it has changed, or is there; 404: it is gone; 422: it is there, and we knew of none.
        if status in (409, 422 if known is self._empty else 404):
            await self._look()
            return False
        self._failed("create" if known is self._empty else "update", status, document)

    def _take(self, document: Any) -> None:
        try:
            found = msgspec.convert(document, _Lease)
        except msgspec.ValidationError:
            raise UnreachableError("the answer is no Lease") from None
        now, spec, before = self._clock(), found.spec, self._seen
        self._document = document
        self._seen = before.again(spec, now) if before is not None else Seen(spec, now)
        if spec.holder_identity != self._me:
            self._until = -1.0
            if spec.holder_identity and self._seen is not before:
                self._refusal = ""  # somebody may hold it, and does

    def _miss(self) -> None:
        """Notes that there is no Lease.

        Where there was one, somebody may have taken or renewed it right before it was deleted, and
        not know yet that it is gone: as if it had been renewed now. Unless it is still ours.
        """
        if self._document is not self._empty and self._seen is not None and self.term is None:
            spec = self._seen.spec
            # One that was given back names a second, whoever took it after that the whole time.
            lasts = max(spec.lease_duration_seconds or 0, math.ceil(self._timing.duration))
            unknown = msgspec.structs.replace(
                spec, holder_identity=SOMEBODY, lease_duration_seconds=lasts
            )
            self._seen = Seen(unknown, self._clock())
        self._document = self._empty

    def _failed(self, verb: str, status: int, document: Any) -> NoReturn:
        """Notes a refusal, which no waiting ends. Raises UnreachableError."""
        if status not in (401, 408, 429) and status < 500:
            answer = document.get("message", "") if isinstance(document, dict) else ""
            refusal = (
                "the right to get, create and update it is missing"
                if status == 403
                else f"{verb} was answered with status {status}"
            )
            if refusal != self._refusal:
                self._refusal = refusal
                log.warning(
                    "Lease cannot be used, so no replica may write lease=%s verb=%s status=%d "
                    "answer=%r fix=%r",
                    self._lease,
                    verb,
                    status,
                    answer[:200],
                    "let the operator get, create and update this lease: "
                    "kubectl apply -f deploy/rbac"
                    if status == 403
                    else "name a Lease in a namespace that is there: GPU_TRIAGE_LEASE",
                )
        raise UnreachableError(f"{verb} was answered with status {status}")

    def _tell(self) -> None:
        leads, led = self.term is not None, self._leads
        holder = (self._seen.spec.holder_identity if self._seen is not None else None) or "nobody"
        if leads and not led:
            log.info("Took the lead lease=%s identity=%s", self._lease, self._me)
        elif led and not leads:
            log.warning("Lost the lead lease=%s holder=%s", self._lease, holder)
        elif not leads and holder not in ("nobody", self._holder):
            log.info("Stands by lease=%s holder=%s", self._lease, holder)
        self._leads, self._holder = leads, holder
        if leads is not led:
            self._changed()
