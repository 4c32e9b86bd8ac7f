"""Which objects go on to kopf, told from their bytes.

Most pods of a cluster have nothing to do with GPUs, and kopf takes 0.3 ms and 1 KB for each object
that it sees. It also tells its handlers nothing about objects that were deleted while no watch ran;
they would hold GPUs for ever. So the pods that name no GPU are dropped before their JSON is parsed,
and an end is made up for what a new list lacks.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from gpu_triage.core.rules import Rules

GONE_LINE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}\n'
"""After this kopf lists anew; any other error in a stream would end its process."""
REMEMBERED_ENDS = 1000
"""An event of an object that comes after its end is that much late at most."""

_WILD = re.compile(r"\[!?\]?[^\]]*\]|[*?\[]")


class Page(msgspec.Struct, frozen=True):
    """One page of a list as kopf gets it."""

    document: dict[str, Any]
    awaited: frozenset[str]
    """Uids for which kopf will call a handler, those that have vanished among them."""
    vanished: int
    """How many objects a complete list lacks that were there before."""
    last: bool


class _List(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None
    kind: str = "List"
    api_version: str = msgspec.field(name="apiVersion", default="v1")


class _Metadata(msgspec.Struct):
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Event(msgspec.Struct):
    type: str
    object: _Object


_list = msgspec.json.Decoder(_List)
_object = msgspec.json.Decoder(_Object)
_event = msgspec.json.Decoder(_Event)
_any = msgspec.json.Decoder()


def tokens(rules: Rules) -> tuple[bytes, ...]:
    """Byte strings of which every pod holds one that asks for a GPU or carries our annotations.

    Names of resources and annotations are keys in JSON, where none of their letters is escaped.
    """
    found = {f'"{rules.domain}/', *map(_literal, rules.resources)}
    needed = (each for each in found if not any(o in each for o in found if o != each))
    return tuple(sorted(each.encode() for each in needed))


class Sieve:
    """The objects of one kind on their way to kopf."""

    def __init__(self, tokens: Iterable[bytes] = ()) -> None:
        """Knows nothing yet.

        Args:
            tokens: an object whose bytes hold none of these is dropped; without any, all pass. What
                has passed once passes for ever: its handler must see that it wants no GPU any more.
        """
        self._tokens = tuple(tokens)
        self._known: dict[str, int] = {}
        """What has passed and not ended: the newest version of each, 0 where it has no number."""
        self._listing: set[str] = set()
        self._again = False
        """Whether the list that is being read is another than the first."""
        self._vanished: set[str] = set()
        self._ended: dict[str, None] = {}
        """The latest ends, in their order."""
        self._floor = 0
        """The version of the last list: what is older and was not in it is gone."""

    def page(self, body: bytes, *, first: bool) -> Page:
        """What kopf gets of a page of a list.

        Raises:
            msgspec.MsgspecError: the body is no list.
        """
        given = _list.decode(body)
        if first:
            self._listing, self._again = set(), bool(self._known)
        passed = []
        for raw in given.items or ():
            text = bytes(raw)
            named = self._names(text)
            if not named and not self._again:
                continue
            it = _object.decode(text).metadata
            if named or it.uid in self._known:
                self._known[it.uid] = _number(it.version)
                self._listing.add(it.uid)
                self._vanished.discard(it.uid)
                passed.append((it.uid, _any.decode(text)))
        awaited, vanished, last = {uid for uid, _ in passed}, 0, not given.metadata.get("continue")
        if last:
            missing = self._known.keys() - self._listing
            for uid in missing:
                self._end(uid)
            vanished = len(missing)
            self._vanished |= missing
            self._listing = set()
            self._floor = _number(str(given.metadata.get("resourceVersion", "")))
            awaited |= self._vanished
        document = {
            "kind": given.kind,
            "apiVersion": given.api_version,
            "metadata": given.metadata,
            "items": [each for _, each in passed],
        }
        return Page(document, frozenset(awaited), vanished, last)

    def ends(self) -> bytes:
        """An end for each object that the last list lacked: the first lines of the next watch."""
        vanished, self._vanished = self._vanished, set()
        return b"".join(
            b'{"type":"DELETED","object":{"metadata":{"uid":"%b"}}}\n' % uid.encode()
            for uid in sorted(vanished)
        )

    def lines(self, whole: bytes) -> bytes:
        """What kopf gets of some whole lines of a watch."""
        kept = []
        for line in whole.split(b"\n"):
            if not line:
                continue
            try:
                event = _event.decode(line)
            except msgspec.MsgspecError:
                event = None
            if event is None or event.type == "ERROR":
                kept.append(GONE_LINE)
            elif event.type == "BOOKMARK" or self._passes(event.type, event.object.metadata, line):
                kept.append(line + b"\n")
        return b"".join(kept)

    def _passes(self, kind: str, it: _Metadata, line: bytes) -> bool:
        known, version = self._known.get(it.uid), _number(it.version)
        if kind == "DELETED":
            self._end(it.uid)
            return known is not None
        if known is None:
            late = it.uid in self._ended or 0 < version <= self._floor
            if late or not self._names(line):
                return False
        elif 0 < version < known:
            return False
        self._known[it.uid] = version
        return True

    def _names(self, text: bytes) -> bool:
        return not self._tokens or any(token in text for token in self._tokens)

    def _end(self, uid: str) -> None:
        self._known.pop(uid, None)
        self._ended[uid] = None
        if len(self._ended) > REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]


def _literal(pattern: str) -> str:
    """What every name that a glob matches holds, with the quote that begins a name in JSON."""
    first, *rest = _WILD.split(pattern)
    return max([f'"{first}' if first else "", *rest], key=len) or '"'


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
