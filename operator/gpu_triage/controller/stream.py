"""Answers of the API server as kopf can take them: pages and streams without surprises."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp

from gpu_triage.controller.feed import Feed
from gpu_triage.controller.sieve import GONE_LINE

log = logging.getLogger(__name__)


class Response(aiohttp.ClientResponse):
    """A response whose JSON may be read by somebody who knows better than kopf what is needed."""

    reader: Callable[[bytes], Any] | None = None

    async def json(self, **how: Any) -> Any:
        """The body, parsed."""
        reader, self.reader = self.reader, None
        if reader is None:
            return await super().json(**how)
        return reader(await self.read())


class Stream:
    """A watch's stream in whole lines, as far as kopf uses one.

    kopf ends its process over an error in the stream that is not 410 Gone, and over half a line
    where the connection was cut: every error becomes a 410, after which it lists anew. It waits for
    ever where nothing comes; here the stream ends then, and kopf asks for another.
    """

    def __init__(self, content: aiohttp.StreamReader, feed: Feed, *, gone: bool = False) -> None:
        """Reads nothing yet.

        Args:
            content: the stream as it comes.
            feed: told of every piece of it; its sieve says what goes on.
            gone: says 410 and nothing else, whatever comes.
        """
        self._content = content
        self._feed = feed
        self._gone = gone

    def __getattr__(self, name: str) -> Any:
        """All else that aiohttp asks of a stream when it closes the response."""
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines, some at a time."""
        sieve = self._feed.sieve
        if ends := sieve.ends():
            yield ends
        if self._gone:
            yield GONE_LINE
            return
        rest = b""
        chunks = self._content.iter_chunked(size)
        while True:
            try:
                # Around the wait alone: a timeout of kopf's own may hit whatever runs meanwhile.
                async with asyncio.timeout(self._feed.patience):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError:
                log.info("Watch is silent and is opened anew kind=%s", self._feed.kind)
                return
            self._feed.answered()
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline and (kept := sieve.lines(whole)):
                yield kept
