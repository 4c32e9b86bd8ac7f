"""Traces of a pod that is not there: what a cluster, or files, can tell."""

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import msgspec

from gpu_triage.cli.connection import Api, RefusedError, path
from gpu_triage.cli.files import Snapshot
from gpu_triage.cli.lists import Event, Named, Quota, pages
from gpu_triage.core import objects

T = TypeVar("T")
REFUSAL = "FailedCreate"
"""The reason of the Events that owners get when the API server refuses their pods."""


class Evidence(Protocol):
    """What can be told; every answer is None where it may not be read."""

    def namespaces(self) -> list[str] | None:
        """The namespaces there are."""
        ...

    def pods_named(self, name: str) -> list[str] | None:
        """Namespaces that have a pod of a name."""
        ...

    def refusals(self, namespace: str) -> list[Event] | None:
        """Events about pods that could not be created."""
        ...

    def quotas(self, namespace: str) -> list[Quota] | None:
        """ResourceQuotas."""
        ...

    def runtime_classes(self) -> list[str] | None:
        """Names of RuntimeClasses."""
        ...


class FromApi:
    """Asks the API server, under the rights of whoever runs the command."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def namespaces(self) -> list[str] | None:
        """See Evidence."""
        return _names(self._list(Named, "api", "v1", "namespaces"))

    def pods_named(self, name: str) -> list[str] | None:
        """See Evidence."""
        found = self._list(Named, "api", "v1", "pods", selector=f"metadata.name={name}")
        return None if found is None else sorted(each.metadata.namespace or "" for each in found)

    def refusals(self, namespace: str) -> list[Event] | None:
        """See Evidence."""
        parts = ("api", "v1", "namespaces", namespace, "events")
        return self._list(Event, *parts, selector=f"reason={REFUSAL}")

    def quotas(self, namespace: str) -> list[Quota] | None:
        """See Evidence."""
        return self._list(Quota, "api", "v1", "namespaces", namespace, "resourcequotas")

    def runtime_classes(self) -> list[str] | None:
        """See Evidence."""
        return _names(self._list(Named, "apis", "node.k8s.io", "v1", "runtimeclasses"))

    def _list(self, kind: type[T], *parts: str, selector: str = "") -> list[T] | None:
        try:
            return list(pages(self._api, path(*parts), kind, selector=selector))
        except RefusedError:
            return None


class FromFiles:
    """Looks into what the files hold; a kind that they lack counts as not readable."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def namespaces(self) -> list[str] | None:
        """See Evidence."""
        return sorted(self._snapshot.namespaces())

    def pods_named(self, name: str) -> list[str] | None:
        """See Evidence."""
        return sorted(pod.namespace for pod in self._snapshot.pods(None) if pod.name == name)

    def refusals(self, namespace: str) -> list[Event] | None:
        """See Evidence."""
        events = self._of("Event", Event, namespace)
        return None if events is None else [each for each in events if each.reason == REFUSAL]

    def quotas(self, namespace: str) -> list[Quota] | None:
        """See Evidence."""
        return self._of("ResourceQuota", Quota, namespace)

    def runtime_classes(self) -> list[str] | None:
        """See Evidence."""
        return _names(self._of("RuntimeClass", Named, None))

    def _of(self, name: str, kind: type[T], namespace: str | None) -> list[T] | None:
        if not {name, f"{name}List"} & self._snapshot.seen:
            return None
        return list(_converted(self._snapshot.evidence.get(name, []), kind, namespace))


def _converted(raws: list[dict[str, Any]], kind: type[T], namespace: str | None) -> Iterator[T]:
    for raw in raws:
        try:
            meta = msgspec.convert(raw.get("metadata", {}), objects.Metadata)
            if namespace in (None, meta.namespace):
                yield msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            continue  # It would only have been a hint.


def _names(found: list[Named] | None) -> list[str] | None:
    return None if found is None else sorted(each.metadata.name for each in found)
