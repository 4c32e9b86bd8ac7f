"""How the API server is made to hold clusters exactly as they were drawn, and to forget them.

Status is no part of what one creates (but for nodes), so a pod's phase, nomination and deletion are
brought about after it.
"""

from urllib.parse import quote

from . import vocabulary as words
from .api import Api, RefusedError

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_SERVER_MADE = ("uid", "deletionTimestamp", "creationTimestamp", "resourceVersion")


def pods_of(namespace: str) -> str:
    """Path of the pods of a namespace."""
    return f"/api/v1/namespaces/{namespace}/pods"


def path_of(pod: dict) -> str:
    """Path of a pod."""
    return f"{pods_of(pod['metadata']['namespace'])}/{pod['metadata']['name']}"


def make_namespaces(api: Api) -> None:
    """The namespaces that random pods live in."""
    known = {each["metadata"]["name"] for each in api.get("/api/v1/namespaces")["items"]}
    for name in words.NAMESPACES:
        if name not in known:
            api.create("/api/v1/namespaces", {"metadata": {"name": name}})


def create_pod(api: Api, pod: dict) -> dict:
    """Creates a pod, without what only a server says; returns it as it is stored."""
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": _fresh(pod), "spec": pod["spec"]}
    return api.create(pods_of(bare["metadata"]["namespace"]), bare)


def lay(api: Api, objects: list[dict]) -> list[str]:
    """Makes the server hold these nodes, pods and DeviceClasses; returns what it refused, and why.

    Pods that fail before they are nominated need their failure to have happened: they are nominated
    last.
    """
    by_kind: dict[str, list[dict]] = {"Node": [], "Pod": [], "DeviceClass": []}
    for each in objects:
        by_kind[each["kind"]].append(each)
    for each in by_kind["DeviceClass"]:
        api.create(CLASSES, {**each, "metadata": _fresh(each)})
    refused = [why for why in api.each(lambda node: _lay_node(api, node), by_kind["Node"]) if why]
    refused += [why for why in api.each(lambda pod: _lay_pod(api, pod), by_kind["Pod"]) if why]
    return refused


def nominate(api: Api, pods: list[dict]) -> None:
    """Nominates the pods that say so in their status, and then deletes those that are terminating.

    Called after the scheduler has tried those that it can try.
    """
    api.each(lambda pod: _nominate(api, pod), [pod for pod in pods if _nominee(pod)])


def clear(api: Api) -> None:
    """Forgets every node, pod and DeviceClass that was laid or asked about."""
    for finalized in (pod for pod in standing_pods(api) if pod["metadata"].get("finalizers")):
        api.patch(path_of(finalized), {"metadata": {"finalizers": None}})
    for namespace in words.NAMESPACES:
        selector = quote(words.ROLE)
        api.delete(f"{pods_of(namespace)}?labelSelector={selector}&gracePeriodSeconds=0")
    api.delete(f"{NODES}?labelSelector={quote(words.GROUP)}")
    api.delete(f"{CLASSES}?labelSelector={quote(words.GROUP)}")


def standing_nodes(api: Api) -> list[dict]:
    """Every node as it is stored."""
    return [stored(node, "Node") for node in api.get(NODES)["items"]]


def standing_pods(api: Api) -> list[dict]:
    """Every pod that stands, as it is stored."""
    selector = quote(f"{words.ROLE}=standing")
    return [stored(pod, "Pod") for pod in api.get(f"{PODS}?labelSelector={selector}")["items"]]


def standing_classes(api: Api) -> list[dict]:
    """Every DeviceClass, as it is stored: old servers drop the field that matters here."""
    return [stored(each, "DeviceClass") for each in api.get(CLASSES)["items"]]


def device_class(name: str, resource: str) -> dict:
    """A DeviceClass that serves an extended resource."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "labels": {words.GROUP: "all"}},
        "spec": {"extendedResourceName": resource},
    }


def stored(item: dict, kind: str) -> dict:
    """An object as the server returned it, without its bookkeeping; items of a list lack a kind."""
    item["metadata"].pop("managedFields", None)
    version = "resource.k8s.io/v1" if kind == "DeviceClass" else "v1"
    return {"apiVersion": version, "kind": kind, **item}


def _fresh(item: dict) -> dict:
    """The metadata of an object as it can be created."""
    return {key: value for key, value in item["metadata"].items() if key not in _SERVER_MADE}


def _lay_node(api: Api, node: dict) -> str:
    try:
        api.create(NODES, {**node, "metadata": _fresh(node)})
    except RefusedError as error:
        return str(error)
    return ""


def _lay_pod(api: Api, pod: dict) -> str:
    try:
        create_pod(api, pod)
    except RefusedError as error:
        return str(error)
    phase = pod["status"]["phase"]
    if phase != "Pending":
        api.patch(f"{path_of(pod)}/status", {"status": {"phase": phase}})
    if not _nominee(pod) and "deletionTimestamp" in pod["metadata"]:
        api.delete(path_of(pod))
    return ""


def _nominee(pod: dict) -> bool:
    return "nominatedNodeName" in pod["status"]


def _nominate(api: Api, pod: dict) -> None:
    nomination = {"nominatedNodeName": pod["status"]["nominatedNodeName"]}
    try:
        api.patch(f"{path_of(pod)}/status", {"status": nomination})
    except RefusedError as error:
        # The pod itself was refused.
        if ": 404 " not in str(error):
            raise
        return
    if "deletionTimestamp" in pod["metadata"]:
        api.delete(path_of(pod))
