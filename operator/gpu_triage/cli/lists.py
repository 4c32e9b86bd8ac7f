"""Reading lists of objects: in pages, as typed structs, counted."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

import msgspec

from gpu_triage.cli.connection import Api, RefusedError
from gpu_triage.cli.failure import AnswerError
from gpu_triage.core import objects
from gpu_triage.core.mention import mentions

PAGE = 500
T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Told after each page of a list that goes on: what is read, and how many there are so far."""


class _ListMetadata(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(_List)


class Event(msgspec.Struct, rename="camel"):
    """What is shown of an Event."""

    metadata: objects.Metadata = objects.Metadata()
    reason: str | None = None
    message: str | None = None
    involved_object: dict[str, Any] | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class QuotaStatus(msgspec.Struct):
    """Limits and what is used of them."""

    hard: objects.Quantities | None = None
    used: objects.Quantities | None = None


class Quota(msgspec.Struct):
    """A ResourceQuota."""

    metadata: objects.Metadata = objects.Metadata()
    status: QuotaStatus | None = None


class Named(msgspec.Struct):
    """Any object of which only the name matters."""

    metadata: objects.Metadata = objects.Metadata()


def silent(what: str, n: int) -> None:
    """Shows no progress."""


def pages(
    api: Api,
    path: str,
    kind: type[T],
    progress: Progress = silent,
    *,
    selector: str = "",
    tokens: Collection[bytes] = (),
) -> Iterator[T]:
    """Every object of a list, or those whose JSON holds one of the tokens, if any are given.

    Args:
        api: where to read.
        path: of the list.
        kind: the struct that the items become.
        progress: see Progress.
        selector: a field selector.
        tokens: see core.mention.

    Raises:
        RefusedError: see Api.get.
        AnswerError: the answer is none.
    """
    one = msgspec.json.Decoder(kind)
    query = {"limit": str(PAGE)}
    if selector:
        query["fieldSelector"] = selector
    seen = 0
    while True:
        try:
            body = api.get(path, query)
        except RefusedError as refusal:
            if refusal.status != 410:
                raise
            raise AnswerError(
                f"{path}: reading took so long that its start expired. Try again."
            ) from None
        try:
            page = _page.decode(body)
            texts = map(bytes, page.items or ())
            found = [one.decode(text) for text in texts if mentions(text, tokens)]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AnswerError(
                f"{path}: what the API server sent cannot be read: {error}."
            ) from None
        yield from found
        seen += len(page.items or ())
        if not page.metadata.continue_:
            return
        progress(path.rpartition("/")[2], seen)
        query["continue"] = page.metadata.continue_
