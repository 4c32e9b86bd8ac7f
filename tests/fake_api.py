"""An API server's answers to GET, from raw objects; it writes down what was read."""

import json

from gpu_triage.cli.connection import RefusedError

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
DRA = "/apis/resource.k8s.io/v1"


class FakeApi:
    """Serves pods, nodes and DeviceClasses.

    Args:
        objects: as raw as the API has them.
        forbidden: paths that answer 403, with whatever begins like one that ends in ``/``.
        dra: whether the API group of DeviceClasses exists.
        page: how many objects a page holds at most, whatever is asked for.
    """

    def __init__(self, *objects, forbidden=(), dra=True, page=500, namespace="default"):
        self.namespace = namespace
        self.objects = objects
        self.forbidden = set(forbidden)
        self.dra = dra
        self.page = page
        self.reads = []

    def get(self, path, query=None):
        query = dict(query or {})
        selector = query.get("fieldSelector", "")
        self.reads.append(f"{path} {selector}".rstrip())
        if self._refused(path):
            raise RefusedError(403, f"{path} is forbidden")
        if path.startswith(DRA) and not self.dra:
            raise RefusedError(404, "the server could not find the requested resource")
        if path == DRA:
            return b"{}"
        kind, namespace, name = _meaning(path)
        found = [
            each
            for each in self.objects
            if each["kind"] == kind
            and namespace in (None, each["metadata"].get("namespace"))
            and _selected(each, selector)
        ]
        if name is not None:
            found = [each for each in found if each["metadata"]["name"] == name]
            if not found:
                raise RefusedError(404, f"{kind} {name} not found")
            return json.dumps(found[0]).encode()
        start = int(query.get("continue", "0"))
        end = start + min(self.page, int(query["limit"]))
        metadata = {"continue": str(end)} if end < len(found) else {}
        return json.dumps({"metadata": metadata, "items": found[start:end] or None}).encode()

    def _refused(self, path):
        return any(
            path.startswith(each) if each.endswith("/") else path == each for each in self.forbidden
        )


def _meaning(path):
    """Kind, namespace and name that a path stands for; None where it names none."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = None
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    kinds = {
        "pods": "Pod",
        "nodes": "Node",
        "namespaces": "Namespace",
        "deviceclasses": "DeviceClass",
        "events": "Event",
        "resourcequotas": "ResourceQuota",
        "runtimeclasses": "RuntimeClass",
    }
    return kinds[parts[0]], namespace, parts[1] if len(parts) > 1 else None


def _selected(item, selector):
    for term in filter(None, selector.split(",")):
        key, _, wanted = term.partition("=")
        value = item
        for part in key.removesuffix("!").split("."):
            value = value.get(part, "") if value else ""
        if (value == wanted) == key.endswith("!"):
            return False
    return True
