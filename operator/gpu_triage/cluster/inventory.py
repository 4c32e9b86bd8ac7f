"""What we know of the cluster now: the only mutable picture, filled by watches, lists or files."""

import msgspec

from gpu_triage.core.autoscaler import Said
from gpu_triage.core.causes import Detail
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.picture import Picture, add
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.rules import Rules


class Changes(msgspec.Struct):
    """What may be different since somebody last asked."""

    nodes: set[str] = set()
    """By name: nodes, and those on which pods hold something or are nominated."""
    pods: set[str] = set()
    """By uid."""
    classes: bool = False
    unread: bool = False


class Inventory:
    """Nodes, pods and DeviceClasses, kept so that the classifier can be asked at any moment.

    Every change returns whether anything that an answer rests on is different now: heartbeats and
    other churn change nothing.
    """

    def __init__(self, rules: Rules) -> None:
        self.version = 0
        """Another one whenever a message may be; what we have written on a pod makes none so."""
        self.pods: dict[str, PodFacts] = {}
        """Every pod that was put in, by uid."""
        self.ignored: set[str] = set()
        """Namespaces that ask to be left alone."""
        self._ignored_anew: set[str] = set()
        self.missing: dict[str, float] = {}
        """Kept by whoever looks again and again: see the picture."""
        self.starting: dict[str, float] = {}
        """Likewise."""
        self._nodes: dict[str, NodeFacts] = {}
        self._holders: dict[str, dict[str, PodFacts]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._nominated: dict[str, dict[str, PodFacts]] = {}
        self._served: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        self._unread: dict[str, Detail] = {}
        self._sayings: dict[str, dict[str, Said]] = {}
        """What autoscalers said of pods; by the pod's uid, then the Event's."""
        self._said: dict[str, Said] = {}
        self._about: dict[str, str] = {}
        """The pod that an Event is about."""
        self._changes = Changes()
        self.picture = Picture(
            rules,
            self._nodes,
            self._holders,
            self._used,
            self._nominated,
            self._classes,
            self._unread,
            self._said,
            self.missing,
            self.starting,
        )

    def waiting(self) -> list[PodFacts]:
        """Pods that ask for GPUs and are not placed, oldest first."""
        found = [pod for pod in self.pods.values() if pod.pending]
        return sorted(found, key=lambda pod: (pod.created or 0.0, pod.namespace, pod.name))

    def take_changes(self) -> Changes:
        """What has changed since this was last called."""
        changes, self._changes = self._changes, Changes()
        return changes

    def put_node(self, node: NodeFacts) -> bool:
        """Takes a node as it is now."""
        if self._nodes.get(node.name) == node:
            return False
        self._nodes[node.name] = node
        self._changes.nodes.add(node.name)
        self.version += 1
        return True

    def drop_node(self, name: str) -> bool:
        """Forgets a node; pods that are still on it count again if it comes back."""
        self._changes.nodes.add(name)
        self.version += 1
        return self._nodes.pop(name, None) is not None

    def put_pod(self, pod: PodFacts) -> bool:
        """Takes a pod as it is now."""
        before = self.pods.get(pod.uid)
        if before == pod:
            return False
        if before is not None:
            self._unhold(before)
        if before is None or msgspec.structs.replace(before, published=pod.published) != pod:
            self.version += 1
        self.pods[pod.uid] = pod
        self._changes.pods.add(pod.uid)
        self._hold(pod)
        return True

    def drop_pod(self, uid: str) -> bool:
        """Forgets a pod; what it held is free."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return False
        self._changes.pods.add(uid)
        self.version += 1
        self._unhold(pod)
        return True

    def put_class(self, name: str, resource: str) -> bool:
        """Takes a DeviceClass that serves an extended resource; an empty resource serves none."""
        if not resource:
            return self.drop_class(name)
        changed = self._served.get(name) != resource
        self._served[name] = resource
        self._reclass()
        return changed

    def drop_class(self, name: str) -> bool:
        """Forgets a DeviceClass."""
        known = self._served.pop(name, None) is not None
        self._reclass()
        return known

    def put_namespace(self, name: str, *, ignored: bool) -> bool:
        """Takes a namespace; no word rests on it."""
        if (name in self.ignored) is ignored:
            return False
        (self.ignored.add if ignored else self.ignored.discard)(name)
        self._ignored_anew.add(name)
        return True

    def take_ignored(self) -> list[PodFacts]:
        """Pods of namespaces that ask to be left alone, or do no more, since this was called."""
        names, self._ignored_anew = self._ignored_anew, set()
        return [pod for pod in self.pods.values() if pod.namespace in names] if names else []

    def put_saying(self, event: str, pod: str, said: Said) -> bool:
        """Takes what an autoscaler says of a pod in an Event, both by their uids."""
        self._about[event] = pod
        self._sayings.setdefault(pod, {})[event] = said
        return self._listen(pod)

    def drop_saying(self, event: str) -> bool:
        """Forgets an Event; most are of no concern and were never taken."""
        pod = self._about.pop(event, None)
        if pod is None:
            return False
        del self._sayings[pod][event]
        return self._listen(pod)

    def mark_unread(self, kind: str, why: Detail) -> bool:
        """Says that objects of a kind could not be read: words that rest on them are unknown."""
        changed = self._unread.get(kind) is not why
        self._unread[kind] = why
        self._changes.unread |= changed
        self.version += changed
        return changed

    def mark_read(self, kind: str) -> bool:
        """Says that all objects of a kind have been read."""
        changed = self._unread.pop(kind, None) is not None
        self._changes.unread |= changed
        self.version += changed
        return changed

    def _listen(self, pod: str) -> bool:
        """Keeps the newest of what was said of a pod."""
        sayings, before = self._sayings[pod], self._said.get(pod)
        if sayings:
            self._said[pod] = max(sayings.values())
        else:
            del self._sayings[pod], self._said[pod]
        if self._said.get(pod) == before:
            return False
        self._changes.pods.add(pod)
        self.version += 1
        return True

    def _reclass(self) -> None:
        """Several classes may serve one resource: it is served while one of them does."""
        self._changes.classes = True
        self.version += 1
        self._classes.clear()
        self._classes.update({resource: name for name, resource in sorted(self._served.items())})

    def _hold(self, pod: PodFacts) -> None:
        if pod.ended or not pod.shape.request:
            return
        self._changes.nodes.add(pod.node or pod.nominated)
        if pod.node:
            self._holders.setdefault(pod.node, {})[pod.uid] = pod
            self._used[pod.node] = add({}, self._holders[pod.node].values())
        elif pod.nominated:
            self._nominated.setdefault(pod.nominated, {})[pod.uid] = pod

    def _unhold(self, pod: PodFacts) -> None:
        self._changes.nodes.add(pod.node or pod.nominated)
        held = self._holders.get(pod.node)
        if held is not None and held.pop(pod.uid, None) is not None:
            self._used[pod.node] = add({}, held.values())
            if not held:
                del self._holders[pod.node], self._used[pod.node]
        nominated = self._nominated.get(pod.nominated)
        if nominated is not None and nominated.pop(pod.uid, None) is not None and not nominated:
            del self._nominated[pod.nominated]
