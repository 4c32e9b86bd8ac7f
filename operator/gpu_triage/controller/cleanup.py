"""``gpu-triage-operator --cleanup``: takes the operator's annotations off every pod, and ends.

For after the operator is gone, as when its chart is uninstalled: one that runs would write them
anew. It lists all pods once, in pages, and needs no more rights than the operator has.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from gpu_triage.controller.transport import Transport
from gpu_triage.core.pod_facts import ANNOTATIONS
from gpu_triage.publish import annotations
from gpu_triage.publish.bucket import Bucket
from gpu_triage.publish.write import Answer, Result, UnreachableError, Write, meaning

log = logging.getLogger(__name__)

PAGE = 500
CONNECTIONS = 8
"""Requests on their way at once."""
TRIES = 6
"""Of one request, before the API server is said not to answer."""
PROGRESS_SECONDS = 5.0


class CleanupError(Exception):
    """It could not be finished; one line: what, and what to do."""


class _Manager(msgspec.Struct):
    manager: str = ""
    operation: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: dict[str, str] | None = None
    managed_fields: list[_Manager] | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata


class _ListMetadata(msgspec.Struct):
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(_Page)
_pod = msgspec.json.Decoder(_Pod)


class Cleanup:
    """One run over all pods."""

    def __init__(
        self, transport: Transport, domains: Iterable[str], *, rate: float, burst: float
    ) -> None:
        """Does nothing yet.

        Args:
            transport: the way to the API server.
            domains: prefixes of annotation keys, the present one and former ones.
            rate: requests a second.
            burst: how many of them may come at once.
        """
        self._transport = transport
        self._keys = {f"{domain}/{name}" for domain in domains for name in ANNOTATIONS}
        self._tokens = tuple(
            f'"{token}'.encode() for token in (*(f"{d}/" for d in domains), annotations.MANAGER)
        )
        self._bucket = Bucket(rate, burst)
        self._done = 0
        self._left: Counter[Result] = Counter()
        self._told = 0.0

    async def run(self) -> int:
        """Cleans every pod; returns how many had something of ours.

        Raises:
            CleanupError: some were left as they were.
        """
        begun = self._told = time.monotonic()
        token = ""
        while True:
            status, page = await self._list(token)
            if status == 410:  # the list has grown too old while its pods were written
                token = ""
                self._left.clear()
                continue
            await self._clean([pod for raw in page.items or () if (pod := self._ours(raw))])
            token = page.metadata.token
            if not token:
                break
        if self._left:
            left = " ".join(f"{result}={count}" for result, count in sorted(self._left.items()))
            raise CleanupError(
                f"annotations are left on {self._left.total()} pods ({left}); look at the lines"
                " above, then run it again"
            )
        log.info("Removed all annotations pods=%d seconds=%.1f", self._done, _since(begun))
        return self._done

    async def _list(self, token: str) -> tuple[int, _Page]:
        path = f"/api/v1/pods?limit={PAGE}"
        if token:
            path += f"&continue={quote(token)}"
        why = ""
        for attempt in range(TRIES):
            await asyncio.sleep(_pause(attempt))
            try:
                status, body = await self._transport.read(path)
                if status == 410 and token:
                    return status, _Page(_ListMetadata())
                if status == 200:
                    return status, _page.decode(body)
            except UnreachableError as error:
                why = str(error)
                continue
            except msgspec.MsgspecError as error:
                why = f"it sends no list: {error}"
                continue
            if status in (401, 403):
                raise CleanupError(
                    f"may not list pods (status {status}); give this account the rights of"
                    " deploy/rbac and run it again"
                )
            why = f"status {status}"
        raise CleanupError(f"cannot list pods: {why}; run it again when the API server answers")

    def _ours(self, raw: msgspec.Raw) -> _Metadata | None:
        """What is known of a pod that carries something of ours."""
        text = bytes(raw)
        if not any(token in text for token in self._tokens):
            return None
        it = _pod.decode(text).metadata
        applied = any(
            each.manager == annotations.MANAGER and each.operation == "Apply"
            for each in it.managed_fields or ()
        )
        return it if applied or self._keys & (it.annotations or {}).keys() else None

    async def _clean(self, pods: list[_Metadata]) -> None:
        async def work() -> None:
            while pods and not self._all_refused():
                await self._clean_one(pods.pop())

        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(work())
        if self._all_refused():
            raise CleanupError(
                "may not patch pods/status; give this account the rights of deploy/rbac, see that"
                " no admission policy denies it, and run it again"
            )

    def _all_refused(self) -> bool:
        return self._left[Result.REFUSED] >= CONNECTIONS and not self._done

    async def _clean_one(self, pod: _Metadata) -> None:
        where = (pod.namespace, pod.name, pod.uid)
        removal = annotations.removal(*where)
        result, left = await self._send(removal)
        if left:
            await self._send(annotations.take_over(*where, left))
            result, left = await self._send(removal)
        if result not in (Result.OK, Result.GONE) or left:
            self._left[Result.CONFLICT if left else result] += 1
            return
        self._done += 1
        if _since(self._told) >= PROGRESS_SECONDS:
            self._told = time.monotonic()
            log.info("Removing annotations pods=%d", self._done)

    async def _send(self, write: Write) -> tuple[Result, list[str]]:
        """What became of a write, and which keys of ours the pod has after it."""
        for attempt in range(TRIES):
            await asyncio.sleep(_pause(attempt))
            while wait := self._bucket.wait(time.monotonic()):
                await asyncio.sleep(wait)
            self._bucket.take(time.monotonic())
            try:
                answer = await self._transport.send(write)
            except UnreachableError as error:
                answer = Answer(503, message=str(error))
            result = meaning(write, answer)
            if result is not Result.RETRY:
                break
        if result in (Result.REFUSED, Result.INVALID, Result.RETRY) and not self._left[result]:
            log.error(
                "Write was not taken path=%s status=%d answer=%r fix=%r",
                write.path.partition("?")[0],
                answer.status,
                answer.message,
                _FIXES.get(result, "report this, with the versions in use"),
            )
        return result, sorted(self._keys & answer.annotations.keys())


_FIXES = {
    Result.REFUSED: "let this account patch pods/status there",
    Result.RETRY: "run it again when the API server answers",
}


def _pause(attempt: int) -> float:
    return 0.0 if attempt == 0 else min(8.0, 0.5 * 2**attempt)


def _since(moment: float) -> float:
    return time.monotonic() - moment
