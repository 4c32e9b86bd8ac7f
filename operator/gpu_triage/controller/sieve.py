"""Which objects go on to kopf, told from their bytes.

Most pods of a cluster have nothing to do with GPUs, and kopf takes 0.3 ms and 1 KB for each object
that it sees. It also tells its handlers nothing about objects that were deleted while no watch ran;
they would hold GPUs for ever. So the pods that name no GPU are dropped before their JSON is parsed,
and an end is made up for what a new list lacks. What passes is made slim (see slim.py); an event
that changes nothing that is read, such as a node's sign of life, is dropped too. And the slim
objects of a page go through kopf as one: each alone would cost more than all that is done with it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from gpu_triage.controller.slim import Slim, versioned, written
from gpu_triage.core import autoscaler
from gpu_triage.core.causes import EVENTS, NAMESPACES, PODS
from gpu_triage.core.mention import mentions, tokens
from gpu_triage.core.pod_facts import IGNORE
from gpu_triage.core.rules import Rules

GONE_LINE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}\n'
"""After this kopf lists anew; any other error in a stream would end its process."""
REMEMBERED_ENDS = 1000
"""An event of an object that comes after its end is that much late at most."""

BUNDLE = "gpu-triage/bundle"
"""The key in what kopf takes for one object, under which the slim objects of a page are."""
_REASONS = (*autoscaler.TAKEN_ON, autoscaler.TURNED_DOWN)
_AUTOSCALERS = (
    *(f'"{reason}"'.encode() for reason in _REASONS),
    f'"{autoscaler.KARPENTER_FAILED}'.encode(),
)
"""Byte strings of which every Event of an autoscaler about a pod holds one."""


class Page(msgspec.Struct, frozen=True):
    """One page of a list as kopf gets it."""

    document: dict[str, Any]
    awaited: frozenset[str]
    """Uids for which kopf will call a handler, those that have vanished among them."""
    vanished: int
    """How many objects a complete list lacks that were there before."""
    last: bool


class Bundled(msgspec.Struct, frozen=True):
    """An object of a page."""

    uid: str
    version: str
    object: msgspec.Struct


class _Known(msgspec.Struct):
    """What has passed of an object."""

    version: int
    """The last one seen; 0 where it is no number."""
    passed: int
    """The one that has passed."""
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


def lean(kind: str, rules: Rules) -> "Sieve":
    """The sieve for a kind: what names nothing that matters is dropped, all else is made slim.

    Of namespaces only those matter that ask to be left alone, of Events those that an autoscaler
    may have made.
    """
    asks = f'"{rules.domain}/{IGNORE}"'.encode()
    needed = {PODS: tokens(rules), NAMESPACES: (asks,), EVENTS: _AUTOSCALERS}
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
        self._pages = 0
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
        passed: list[dict[str, Any]] = []
        bundle: list[Bundled] = []
        awaited: set[str] = set()
        for raw in given.items or ():
            text = bytes(raw)
            named = mentions(text, self._tokens)
            if not named and not self._again:
                continue
            it = _object.decode(text).metadata
            if named or it.uid in self._known:
                self._listing.add(it.uid)
                self._vanished.discard(it.uid)
                awaited.add(it.uid)
                slim = self._listed(it, text)
                if slim is None:
                    passed.append(_any.decode(text))
                else:
                    bundle.append(Bundled(it.uid, it.version, slim))
        self._pages = 0 if first else self._pages + 1
        if bundle:
            name = f"page-{self._pages}"  # the same ones again: kopf remembers each name for ever
            passed.insert(0, {"metadata": {"uid": name, "name": name}, BUNDLE: bundle})
        vanished, last = 0, not given.metadata.get("continue")
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
            "items": passed,
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

    def outdated(self, uid: str, version: str) -> bool:
        """Whether another state of an object has passed that is newer: it comes by another way."""
        known = self._known.get(uid)
        return known is not None and 0 < _number(version) < known.passed

    def ended(self, uid: str) -> bool:
        """Whether an object's end has passed."""
        return uid not in self._known

    def _listed(self, it: _Metadata, text: bytes) -> msgspec.Struct | None:
        """An object of a list, which passes even if it is as it was; None: it does so unslimmed."""
        version = _number(it.version)
        known = self._known[it.uid] = _Known(version, version, 0)
        if (slim := self._slimmed(text)) is not None:
            known.digest = hash(written(slim))
        return slim

    def _event(self, kind: str, it: _Metadata, line: bytes) -> bytes:
        """What passes of an event; nothing where it is dropped."""
        known, version = self._known.get(it.uid), _number(it.version)
        if kind == "DELETED":
            self._end(it.uid)
            return line + b"\n" if known is not None else b""
        if known is None:
            late = it.uid in self._ended or 0 < version <= self._floor
            if late or not mentions(line, self._tokens):
                return b""
            known = self._known[it.uid] = _Known(version, version, 0)
        elif 0 < version < known.version:
            return b""
        known.version = version
        if (object_ := self._slimmed(line, event=True)) is None:
            known.digest, known.passed = 0, version
            return line + b"\n"
        slim = written(object_)
        if known.digest == (digest := hash(slim)):
            return b""
        known.digest, known.passed = digest, version
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), versioned(slim, it.version))

    def _slimmed(self, text: bytes, *, event: bool = False) -> msgspec.Struct | None:
        """None where it passes as it is: if it may, or for its handler to say what is wrong."""
        if self._slim is None:
            return None
        try:
            return self._slim.event(text) if event else self._slim.object(text)
        except msgspec.MsgspecError:
            return None

    def _end(self, uid: str) -> None:
        self._known.pop(uid, None)
        self._ended[uid] = None
        if len(self._ended) > REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
