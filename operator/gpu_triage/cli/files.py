"""Answers from files: snapshots as kubectl and must-gather tools write them."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpu_triage.cli.documents import DocumentError, Found, looks_like_objects, objects
from gpu_triage.cli.failure import AnswerError
from gpu_triage.cli.moments import newest
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import autoscaler
from gpu_triage.core import objects as kinds
from gpu_triage.core.causes import DEVICE_CLASSES, NODES, PODS, Detail
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import PodFacts, pod_facts
from gpu_triage.core.rules import Rules

STDIN = "-"
SUFFIXES = (".json", ".yaml", ".yml", "")
"""Names of files that are looked into when a folder is given."""
_TIMED = ("Pod", "Node", "Event", "Namespace", "DeviceClass", "Lease")
_EVIDENCE = ("Event", "Namespace", "ResourceQuota", "RuntimeClass")


class Snapshot(msgspec.Struct):
    """What the files say."""

    inventory: Inventory
    now: float = 0.0
    """The newest time found, in seconds since 1970; 0 where there is none."""
    evidence: dict[str, list[dict[str, Any]]] = {}
    """Events, Namespaces, ResourceQuotas and RuntimeClasses as they were written, by kind."""
    seen: set[str] = set()
    """Every kind that was found, lists too."""
    skipped: int = 0
    """Files in folders that hold no Kubernetes object."""

    def pods(self, namespace: str | None) -> list[PodFacts]:
        """The pods of a namespace; None: of all."""
        every = self.inventory.pods.values()
        return [pod for pod in every if namespace in (None, pod.namespace)]

    def namespaces(self) -> set[str]:
        """The namespaces that the files know."""
        told = {each.get("metadata", {}).get("name") for each in self.evidence.get("Namespace", ())}
        return {pod.namespace for pod in self.inventory.pods.values()} | (told - {None})


def read(paths: Iterable[str], rules: Rules, dra: str) -> Snapshot:
    """Reads files, folders and ``-``.

    Args:
        paths: as given on the command line.
        rules: what counts as a GPU.
        dra: ``on``: without DeviceClasses in the files, words that rest on them are unknown;
            ``off``: they are passed over.

    Raises:
        AnswerError: a file cannot be read or parsed, or nothing in it is a Kubernetes object.
    """
    snapshot = Snapshot(Inventory(rules))
    for path in paths:
        found = 0
        for name, text, strict in _texts(path, snapshot):
            taken = _take(name, text, strict, snapshot, dra)
            if not taken and name == path:
                raise AnswerError(
                    f"{_shown(name)}: no Kubernetes object in it. Give what `kubectl get pods,nodes"
                    " -A -o yaml` writes."
                )
            found += taken
        if not found:
            skipped = f" (files looked at: {snapshot.skipped})" if snapshot.skipped else ""
            raise AnswerError(
                f"{path}: no Kubernetes object in this folder{skipped}. Give one with the JSON or"
                " YAML files of `kubectl cluster-info dump` or of a must-gather."
            )
    for kind, names, needed in (
        (NODES, {"Node", "NodeList"}, True),
        (PODS, {"Pod", "PodList"}, True),
        (DEVICE_CLASSES, {"DeviceClass", "DeviceClassList"}, dra == "on"),
    ):
        if needed and not names & snapshot.seen:
            snapshot.inventory.mark_unread(kind, Detail.NOT_SYNCED)
    return snapshot


def _texts(path: str, snapshot: Snapshot) -> Iterator[tuple[str, bytes, bool]]:
    """The texts under a path: name, content, and whether it has to parse."""
    if path == STDIN:
        yield STDIN, sys.stdin.buffer.read(), True
        return
    root = Path(path)
    if not root.is_dir():
        yield path, _bytes(root), True
        return
    for file in sorted(each for each in root.rglob("*") if each.is_file()):
        text = _bytes(file) if file.suffix in SUFFIXES else b""
        if looks_like_objects(text):
            yield str(file), text, bool(file.suffix)
        else:
            snapshot.skipped += 1


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise AnswerError(
            f"{file}: {error.strerror or error}. Check the path given to -f."
        ) from None


def _take(name: str, text: bytes, strict: bool, snapshot: Snapshot, dra: str) -> int:
    """Puts the objects of a text into the snapshot; how many there were."""
    try:
        found = objects(text)
    except DocumentError as error:
        if not strict:
            snapshot.skipped += 1
            return 0
        raise AnswerError(
            f"{_shown(name)}: {error}. Write the file again (kubectl get … -o yaml), or leave it"
            " out."
        ) from None
    for each in found:
        snapshot.seen.add(each.kind)
        try:
            _put(each, snapshot, dra)
        except kinds.ObjectError as error:
            raise AnswerError(
                f"{_shown(name)}: {_called(each)}: {error}. Correct it, or leave it out."
            ) from None
    if not found and name != STDIN and strict:
        snapshot.skipped += 1
    return len(found)


def _put(found: Found, snapshot: Snapshot, dra: str) -> None:
    group = found.api_version.rpartition("/")[0]
    builtin = not group or group.endswith(".k8s.io")
    if builtin and found.kind in _TIMED:
        snapshot.now = max(snapshot.now, newest(found.raw))
    if builtin and found.kind in _EVIDENCE:
        snapshot.evidence.setdefault(found.kind, []).append(found.raw)
    inventory = snapshot.inventory
    match group, found.kind:
        case "", "Pod":
            pod = kinds.pod(found.raw)
            _check_name(pod.metadata)
            inventory.put_pod(pod_facts(pod, inventory.picture.rules))
        case "", "Node":
            node = kinds.node(found.raw)
            _check_name(node.metadata)
            inventory.put_node(node_facts(node, inventory.picture.rules))
        case "", "Event":
            with contextlib.suppress(kinds.ObjectError):  # it would only have been a hint
                _listen(kinds.event(found.raw), inventory)
        case "resource.k8s.io", "DeviceClass" if dra != "off":
            each = kinds.device_class(found.raw)
            served = each.spec.extended_resource_name if each.spec is not None else None
            inventory.put_class(each.metadata.name, served or "")


def _listen(event: kinds.Event, inventory: Inventory) -> None:
    said, meta = autoscaler.said(event), event.metadata
    if said is not None and event.involved_object is not None:
        called = meta.uid or f"{meta.namespace}/{meta.name}"
        inventory.put_saying(called, event.involved_object.uid, said)


def _check_name(metadata: kinds.Metadata) -> None:
    if not metadata.name:
        raise kinds.ObjectError("it has no name - at `$.metadata.name`")


def _called(found: Found) -> str:
    """How an object is called in an error: its kind, namespace and name as far as it has them."""
    metadata = found.raw.get("metadata")
    parts = metadata if isinstance(metadata, dict) else {}
    names = [str(parts[key]) for key in ("namespace", "name") if parts.get(key)]
    return f"{found.kind} {'/'.join(names) or 'without a name'}"


def _shown(name: str) -> str:
    return "stdin" if name == STDIN else name
