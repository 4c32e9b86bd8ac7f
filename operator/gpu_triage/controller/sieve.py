"""Which objects go on to kopf, told from their bytes.

Most pods of a cluster have nothing to do with GPUs, and kopf takes 0.3 ms and 1 KB for each object
that it sees. It also tells its handlers nothing about objects that were deleted while no watch ran;
they would hold GPUs for ever. So the pods that name no GPU are dropped before their JSON is parsed,
and an end is made up for what a new list lacks. What passes is made slim (see slim.py); an event
that changes nothing that is read, such as a node's sign of life, is dropped too.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from gpu_triage.controller.slim import Slim, versioned
from gpu_triage.core import autoscaler
from gpu_triage.core.causes import EVENTS, PODS
from gpu_triage.core.rules import Rules

GONE_LINE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}\n'
"""After this kopf lists anew; any other error in a stream would end its process."""
REMEMBERED_ENDS = 1000
"""An event of an object that comes after its end is that much late at most."""

_REASONS = (*autoscaler.TAKEN_ON, autoscaler.TURNED_DOWN)
_AUTOSCALERS = (
    *(f'"{reason}"'.encode() for reason in _REASONS),
    f'"{autoscaler.KARPENTER_FAILED}'.encode(),
)
"""Byte strings of which every Event of an autoscaler about a pod holds one."""
_WILD = re.compile(r"\[!?\]?[^\]]*\]|[*?\[]")


class Page(msgspec.Struct, frozen=True):
    """One page of a list as kopf gets it."""

    document: dict[str, Any]
    awaited: frozenset[str]
    """Uids for which kopf will call a handler, those that have vanished among them."""
    vanished: int
    """How many objects a complete list lacks that were there before."""
    last: bool


class _Known(msgspec.Struct):
    """What has passed of an object."""

    version: int
    """0 where it is no number."""
    digest: int
    """Of all that is read; 0 where it passes as it is."""


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


def lean(kind: str, rules: Rules) -> "Sieve":
    """The sieve for a kind: pods that name no GPU are dropped, all else is made slim.

    Of Events only those pass that an autoscaler may have made.
    """
    needed = {PODS: tokens(rules), EVENTS: _AUTOSCALERS}
    return Sieve(needed.get(kind, ()), Slim(kind))


class Sieve:
    """The objects of one kind on their way to kopf."""

    def __init__(self, tokens: Iterable[bytes] = (), slim: Slim | None = None) -> None:
        """Knows nothing yet.

        Args:
            tokens: an object whose bytes hold none of these is dropped; without any, all pass. What
                has passed once passes for ever: its handler must see that it wants no GPU any more.
            slim: makes them slim; None passes them as they are.
        """
        self._tokens = tuple(tokens)
        self._slim = slim
        self._known: dict[str, _Known] = {}
        """What has passed and not ended."""
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
                self._listing.add(it.uid)
                self._vanished.discard(it.uid)
                passed.append((it.uid, _any.decode(self._listed(it, text))))
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
            elif event.type == "BOOKMARK":
                kept.append(line + b"\n")
            else:
                kept.append(self._event(event.type, event.object.metadata, line))
        return b"".join(kept)

    def _listed(self, it: _Metadata, text: bytes) -> bytes:
        """An object of a list, which passes even if it is as it was."""
        known = self._known[it.uid] = _Known(_number(it.version), 0)
        if (slim := self._slimmed(text)) is None:
            return text
        known.digest = hash(slim)
        return versioned(slim, it.version)

    def _event(self, kind: str, it: _Metadata, line: bytes) -> bytes:
        """What passes of an event; nothing where it is dropped."""
        known, version = self._known.get(it.uid), _number(it.version)
        if kind == "DELETED":
            self._end(it.uid)
            return line + b"\n" if known is not None else b""
        if known is None:
            late = it.uid in self._ended or 0 < version <= self._floor
            if late or not self._names(line):
                return b""
            known = self._known[it.uid] = _Known(version, 0)
        elif 0 < version < known.version:
            return b""
        known.version = version
        if (slim := self._slimmed(line, event=True)) is None:
            known.digest = 0
            return line + b"\n"
        if known.digest == (digest := hash(slim)):
            return b""
        known.digest = digest
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), versioned(slim, it.version))

    def _slimmed(self, text: bytes, *, event: bool = False) -> bytes | None:
        """None where it passes as it is: if it may, or for its handler to say what is wrong."""
        if self._slim is None:
            return None
        try:
            return self._slim.event(text) if event else self._slim.object(text)
        except msgspec.MsgspecError:
            return None

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
