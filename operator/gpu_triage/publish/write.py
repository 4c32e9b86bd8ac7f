"""One request to the API server that changes something, and what was answered."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What a write is for; a metric label."""

    ANNOTATION = "annotation"
    REMOVAL = "removal"
    EVENT = "event"
    SERIES = "series"


class Result(StrEnum):
    """What became of a write; a metric label."""

    OK = "ok"
    EXISTS = "exists"
    """The Event was there already."""
    GONE = "gone"
    """The pod, its namespace or the Event is no more."""
    CONFLICT = "conflict"
    REFUSED = "refused"
    """A right is missing, or a policy forbids it."""
    INVALID = "invalid"
    """The API server does not take it."""
    RETRY = "retry"
    """No answer, a server error, or too many requests: it is sent again."""


class Write(msgspec.Struct, frozen=True):
    """A request, ready to be sent."""

    kind: Kind
    method: str
    path: str
    """With its query."""
    content_type: str
    body: bytes
    says: str
    """Equal for two writes that say the same: one that was refused is not repeated at once."""


class Answer(msgspec.Struct, frozen=True):
    """What the API server said."""

    status: int
    retry_after: float | None = None
    """Seconds that it asks to wait."""
    reason: str = ""
    """The reason of its Status object: AlreadyExists, Forbidden …"""
    causes: tuple[str, ...] = ()
    """The fields and reasons that its Status object names: metadata.uid, NamespaceTerminating …"""
    message: str = ""
    """Its text, cut: it may quote the whole object."""
    annotations: dict[str, str] = {}
    """Those that the object has after the write."""


class UnreachableError(Exception):
    """No answer came: connection refused, cut or timed out."""


Send = Callable[[Write], Awaitable[Answer]]


def meaning(write: Write, answer: Answer) -> Result:
    """What an answer means for the write, as Kubernetes 1.37 gives them."""
    match answer.status:
        case status if status < 400:
            return Result.OK
        case 404:
            return Result.GONE
        case 409 if write.kind is Kind.EVENT:
            return Result.EXISTS
        case 409:
            return Result.CONFLICT
        case 422 if "metadata.uid" in answer.causes:
            return Result.GONE  # another pod was made under this name
        case 403:
            return Result.REFUSED
        case status if status in (401, 408, 429) or status >= 500:
            return Result.RETRY
        case _:
            return Result.INVALID
