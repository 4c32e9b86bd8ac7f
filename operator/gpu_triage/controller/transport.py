"""The one session through which everything goes to the API server, kopf's requests included.

A middleware signs each request, lets only those objects through that matter, and notes what the
feeds must know. It also turns answers that would end kopf's process (a 401, a 404 or a lapsed
continue token) into ones that make it try again. This rests on how kopf 1.45 and aiohttp 3.14 work
together; tests/unit/test_kopf_contract.py says where.
"""

import asyncio
import json
import logging
import os
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import kopf
import msgspec

from gpu_triage.controller.access import Access, AccessError
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.stream import Response, Stream
from gpu_triage.publish.write import Answer, UnreachableError, Write

log = logging.getLogger(__name__)

OWN_TIMEOUT = aiohttp.ClientTimeout(total=30, sock_connect=10)
MESSAGE_LENGTH = 200
"""The API server may quote the whole object in its message."""


class Transport:
    """Sessions with the API server."""

    def __init__(self, access: Access, agent: str) -> None:
        self.feeds: dict[str, Feed] = {}
        """The watched kinds, by their path."""
        self._access = access
        self._agent = agent
        self._prefix = urlsplit(access.server).path.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        self._failing: set[str] = set()
        """Paths whose last answer was none, or a failure."""

    def login(self) -> kopf.AiohttpSession:
        """What kopf logs in with; it closes the session when it ends or logs in anew."""
        return kopf.AiohttpSession(server=self._access.server, aiohttp_session=self._open())

    async def get(self, path: str) -> tuple[int, Any]:
        """The status and parsed body of one object or discovery document.

        Raises:
            UnreachableError: no answer came.
            AccessError: the server's certificate is not the one that was told.
        """
        status, body = await self.read(path)
        try:
            return status, json.loads(body or b"null")
        except json.JSONDecodeError:
            return status, None

    async def read(self, path: str) -> tuple[int, bytes]:
        """The status and body of an answer; raises as ``get`` does."""
        try:
            return await self._request("GET", path)
        except UnreachableError as error:
            if not isinstance(why := error.__cause__, aiohttp.ClientConnectorCertificateError):
                raise
            raise AccessError(
                f"{self._access.source}: {self._access.server} shows another certificate "
                f"({why.certificate_error}); give the certificate authority that signed it"
            ) from None

    async def ask(
        self, method: str, path: str, body: bytes | None = None, seconds: float = 30
    ) -> tuple[int, Any]:
        """The status and parsed answer of one request; None for an answer that is no JSON.

        Args:
            method: GET or PUT.
            path: with its query.
            body: JSON.
            seconds: how long it may take.

        Raises:
            UnreachableError: no answer came.
        """
        status, answer = await self._request(method, path, body, seconds)
        try:
            return status, json.loads(answer or b"null")
        except json.JSONDecodeError:
            return status, None

    async def _request(
        self, method: str, path: str, body: bytes | None = None, seconds: float = 30
    ) -> tuple[int, bytes]:
        try:
            async with self._open().request(
                method,
                self._access.server + path,
                data=body,
                headers={"Content-Type": "application/json"} if body is not None else None,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=10),
                middlewares=(self._sign,),
            ) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(_text(error)) from error

    async def send(self, write: Write) -> Answer:
        """Makes a write. Raises UnreachableError where no answer came."""
        headers = {
            "Content-Type": write.content_type,
            "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
            "application/json",
        }
        try:
            async with self._open().request(
                write.method,
                self._access.server + write.path,
                data=write.body,
                headers=headers,
                timeout=OWN_TIMEOUT,
                middlewares=(self._sign,),
            ) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(_text(error)) from None
        if response.status < 400:
            return Answer(response.status, annotations=_annotations(body))
        return _refusal(response.status, response.headers.get("Retry-After", ""), body)

    async def close(self) -> None:
        """Closes the session."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._access.tls or True),
                headers={"User-Agent": self._agent, "Accept-Encoding": "identity"},
                middlewares=(self._watch_over, self._sign),
                proxy=self._access.proxy,
                response_class=Response,
            )
        return self._session

    async def _sign(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        token = self._access.bearer()
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return await handler(request)

    async def _watch_over(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Passes kopf's requests on and notes what comes back."""
        feed = self.feeds.get(request.url.path.removeprefix(self._prefix))
        watch = request.url.query.get("watch") == "true"
        try:
            # kopf waits for ever for the answer to a watch, even if nobody listens any more.
            async with asyncio.timeout(feed.patience if feed is not None and watch else None):
                response = await handler(request)
        except (aiohttp.ClientConnectionError, OSError) as error:
            self._lost(request.url.path, _text(error))
            raise
        match response.status:
            case status if status < 400:
                self._back(request.url.path)
                if feed is not None:
                    _listen(response, feed, watch, request.url.query.get("continue", ""))
            case 403 if feed is not None:
                self._back(request.url.path)
                feed.refused("watch" if watch else "list")
            case 410 if feed is not None and watch:
                response.status = 200
                response.content = Stream(  # type: ignore[assignment]
                    response.content, feed, gone=True
                )
            case 410 if feed is not None:
                response.close()
                # kopf answers this one by listing anew from the first page.
                raise aiohttp.ClientPayloadError("the list's continue token has lapsed")
            case status if (
                status < 500
                and status != 429
                and not (
                    feed is None and status in (403, 404)  # discovery: of a group that is not there
                )
            ):
                self._lost(request.url.path, f"status {status}")
                response.close()
                # kopf repeats this one after a pause, with a token that was read anew.
                raise aiohttp.ClientConnectionError(f"the API server answered {status}")
            case status if status == 429 or status >= 500:
                self._lost(request.url.path, f"status {status}")
        return response

    def _lost(self, path: str, why: str) -> None:
        if not self._failing:
            log.warning(
                "API server does not answer, is asked again server=%s why=%r",
                self._access.server,
                why,
            )
        self._failing.add(path)

    def _back(self, path: str) -> None:
        if path in self._failing:
            self._failing.remove(path)
            if not self._failing:
                log.info("API server answers again server=%s", self._access.server)


def _listen(response: aiohttp.ClientResponse, feed: Feed, watch: bool, token: str) -> None:
    if watch:
        feed.answered()
        # kopf reads a watch's stream by iter_chunked alone.
        response.content = Stream(response.content, feed)  # type: ignore[assignment]
        return

    def read(body: bytes) -> Any:
        try:
            page = feed.sieve.page(body, first=not token)
        except msgspec.MsgspecError as error:
            raise aiohttp.ClientPayloadError(f"no list of {feed.kind}: {error}") from None
        feed.page(page.awaited, first=not token, last=page.last)
        if page.vanished:
            log.info("Objects were deleted unseen kind=%s count=%d", feed.kind, page.vanished)
        return page.document

    assert isinstance(response, Response)  # the session makes no others
    response.reader = read


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Written(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_written = msgspec.json.Decoder(_Written)


def _annotations(body: bytes) -> dict[str, str]:
    try:
        return _written.decode(body).metadata.annotations
    except msgspec.MsgspecError:
        return {}


def _refusal(status: int, retry_after: str, body: bytes) -> Answer:
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    told = parsed if isinstance(parsed, dict) else {}
    causes = (told.get("details") or {}).get("causes") or ()
    return Answer(
        status,
        float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None,
        told.get("reason") or "",
        tuple(each[key] for each in causes for key in ("field", "reason") if each.get(key)),
        (told.get("message") or "")[:MESSAGE_LENGTH],
    )


def _text(error: BaseException) -> str:
    """What went wrong, without the address, which stands beside it anyway."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__
