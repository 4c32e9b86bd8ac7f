"""Kubernetes objects in a text: JSON, YAML, Lists, streams of either, and what kubectl dumps."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

# `kubectl cluster-info dump` writes the logs of every container between two such lines.
_LOGS = re.compile(
    rb"^==== START logs for .*?(?:^==== END logs for [^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE
)
_KIND = re.compile(rb"""["'](?:kind|items)["']\s*:|^[ -]*kind\s*:""", re.MULTILINE)
_SEPARATOR = re.compile(r"^---", re.MULTILINE)


class DocumentError(ValueError):
    """A text is neither JSON nor YAML; says where and why in one line."""


class Found(msgspec.Struct, frozen=True):
    """An object as it was written, with what its list says about it."""

    kind: str
    api_version: str
    raw: dict[str, Any]


def looks_like_objects(text: bytes) -> bool:
    """Whether a text may hold Kubernetes objects at all, judged by its beginning."""
    head = text[:65536]
    return b"\0" not in head and _KIND.search(head) is not None


def objects(text: bytes) -> list[Found]:
    """Every Kubernetes object in a text, those of lists one by one.

    Raises:
        DocumentError: the text is neither JSON nor YAML.
    """
    text = text.removeprefix(b"\xef\xbb\xbf")
    if b"==== START logs for " in text:
        text = _LOGS.sub(b"", text)
    parse = _json if text.lstrip()[:1] in (b"{", b"[") else _yaml
    try:
        return [found for document in parse(text) for found in _expand(document, "", "")]
    except RecursionError:
        raise DocumentError("nested too deeply") from None


def _json(text: bytes) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _json_stream(text)


def _json_stream(text: bytes) -> list[Any]:
    """JSON documents one after the other, as `kubectl cluster-info dump` writes them."""
    decoded = _decoded(text)
    decoder = json.JSONDecoder()
    documents = []
    position = _skip_space(decoded, 0)
    while position < len(decoded):
        try:
            document, position = decoder.raw_decode(decoded, position)
        except json.JSONDecodeError as error:
            if _is_yaml(decoded):
                return _yaml(text)
            where = f"line {error.lineno}, column {error.colno}"
            if error.pos >= len(decoded.rstrip()) or error.msg.startswith("Unterminated"):
                raise DocumentError(f"the JSON is cut off at {where}") from None
            raise DocumentError(f"not JSON at {where}: {error.msg}") from None
        documents.append(document)
        position = _skip_space(decoded, position)
    return documents


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _is_yaml(text: str) -> bool:
    """Whether a text that begins with a brace is YAML: bare keys, or documents in a stream."""
    return re.match(r"\{\s*[A-Za-z]", text) is not None or _SEPARATOR.search(text) is not None


def _yaml(text: bytes) -> list[Any]:
    import yaml  # noqa: PLC0415  (costs 30 ms, which JSON need not pay)

    decoded = _decoded(text)
    try:
        return list(yaml.load_all(decoded, Loader=_loader()))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise DocumentError(f"not YAML{where}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise DocumentError(f"not YAML: {' '.join(str(error).split())}") from None
    except ValueError as error:
        raise DocumentError(f"not YAML: {error}") from None


def _loader() -> Any:
    """The C loader, which leaves times as they are written: rules read them as text."""
    import yaml  # noqa: PLC0415

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, unused-ignore]
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }

    return Loader


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"no text in UTF-8: line {line} holds other bytes") from None


def _expand(document: Any, kind: str, api_version: str) -> Iterator[Found]:
    """The objects of a document; items of a list may leave their kind to the list."""
    if isinstance(document, list):
        for item in document:
            yield from _expand(item, kind, api_version)
        return
    if not isinstance(document, dict):
        return
    own = document.get("kind", kind)
    version = document.get("apiVersion", api_version)
    if not (isinstance(own, str) and own and isinstance(version, str) and version):
        return
    if own == "List" or (own.endswith("List") and "items" in document):
        items = document.get("items")
        if not isinstance(items, list | None):
            raise DocumentError(f"{own}: `items` is no list")
        yield Found(own, version, {})
        yield from _expand(items or [], own.removesuffix("List"), version)
    else:
        yield Found(own, version, document)
