"""Answers of the API server as kopf can take them: noted pages, streams without surprises."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp

GONE_LINE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}'
ERROR_LINE = re.compile(rb'^\{"type": ?"ERROR".*$', re.MULTILINE)


class Response(aiohttp.ClientResponse):
    """A response whose JSON is shown to a listener before kopf gets it."""

    listener: Callable[[Any], None] | None = None

    async def json(self, **how: Any) -> Any:
        """The body, parsed."""
        body = await super().json(**how)
        listener, self.listener = self.listener, None
        if listener is not None:
            listener(body)
        return body


class Stream:
    """A watch's stream in whole lines, as far as kopf uses one.

    kopf ends its process over an error in the stream that is not 410 Gone, and over half a line
    where the connection was cut: every error becomes a 410, after which it lists anew.
    """

    def __init__(
        self, content: aiohttp.StreamReader, heard: Callable[[], None], *, gone: bool = False
    ) -> None:
        """Reads nothing yet.

        Args:
            content: the stream as it comes.
            heard: called for every piece of it.
            gone: says 410 and nothing else, whatever comes.
        """
        self._content = content
        self._heard = heard
        self._gone = gone

    def __getattr__(self, name: str) -> Any:
        """All else that aiohttp asks of a stream when it closes the response."""
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines, some at a time."""
        if self._gone:
            yield GONE_LINE + b"\n"
            return
        rest = b""
        async for chunk in self._content.iter_chunked(size):
            self._heard()
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield _calmed(whole) + b"\n"


def _calmed(lines: bytes) -> bytes:
    return ERROR_LINE.sub(GONE_LINE, lines) if b'"ERROR"' in lines else lines
