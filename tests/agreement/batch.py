"""One batch: clusters side by side in one API server, and every measure taken on them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tests.controlplane import ControlPlane

from . import laying
from . import vocabulary as words
from .api import Api, RefusedError
from .asking import Answer, Asking
from .clusters import Cluster, pinned
from .narrowing import Variant, blocked, hidden, narrow
from .record import Asked, Measure, Record
from .text import read

AS_IS = Variant.AS_IS
BINDING_ROUNDS = 4
"""Pods of each cluster that may be bound, one after the other."""
SETTLING, SETTLING_OF_FEW = 0.5, 0.15
"""Seconds for the last status to reach the scheduler, whose nodes and pods are two watches."""


class Batch:
    """Lays clusters, asks, and keeps what was answered."""

    def __init__(self, plane: ControlPlane, version: str) -> None:
        self.plane = plane
        self.version = version
        self.api = Api(plane)
        laying.make_namespaces(self.api)
        self._sentinels = 0

    def close(self) -> None:
        """Ends the connections."""
        self.api.close()

    def single(self, objects: list[dict], asked: Asked) -> Record:
        """One question about these objects alone."""
        record = Record(self.version, False, [], [], [], [], [], [], {})
        asking = Asking(self.api, patience=10.0)
        try:
            self._lay(asking, objects, record)
            one = Cluster(asked.group, [], [], [asked.pod], asked.pod)
            match asked.measure:
                case Measure.NOMINATED:
                    self._nominated(asking, [one], record)
                case Measure.BOUND:
                    self._bound(asking, [one], record, rounds=1)
                case _:
                    self._histogram(asking, [one], record)
        finally:
            asking.close()
            laying.clear(self.api)
        return record

    def run(
        self, clusters: list[Cluster], served: tuple[str, ...] = (), *, restart: bool = False
    ) -> Record:
        """Every measure on these clusters.

        Args:
            clusters: laid side by side.
            served: resources that a DeviceClass serves, in all of them.
            restart: whether the scheduler starts anew once everything stands.
        """
        record = Record(self.version, restart, [], [], [], [], [], [], {})
        asking = Asking(self.api)
        try:
            with self._timed(record, "laying"):
                classes = [laying.device_class(f"class-{i}", each) for i, each in enumerate(served)]
                self._lay(
                    asking, [*classes, *(o for each in clusters for o in each.objects)], record
                )
                if restart:
                    self._restart()
                self._wait_for_nodes(asking, len(record.nodes))
            for measure, take in (
                (Measure.NARROWED, self._narrowed),
                (Measure.HISTOGRAM, self._histogram),
                (Measure.NOMINATED, self._nominated),
                (Measure.BOUND, self._bound),
            ):
                with self._timed(record, measure):
                    take(asking, clusters, record)
            with self._timed(record, "clearing"):
                laying.clear(self.api)
        finally:
            asking.close()
        return record

    @contextmanager
    def _timed(self, record: Record, name: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        record.seconds[name] = time.monotonic() - begun

    def _lay(self, asking: Asking, objects: list[dict], record: Record) -> None:
        pods = [each for each in objects if each["kind"] == "Pod"]
        others = [each for each in objects if each["kind"] != "Pod"]
        record.written = [each for each in objects if each["kind"] != "DeviceClass"]
        record.refused += laying.lay(self.api, others)
        # A pod that failed for want of any node would be tried again at every event.
        nodes = sum(each["kind"] == "Node" for each in others)
        self._wait_for_nodes(asking, nodes)
        record.refused += laying.lay(self.api, pods)
        self._wait_for_tries()
        laying.nominate(self.api, pods)
        time.sleep(SETTLING if len(pods) > 100 else SETTLING_OF_FEW)
        record.nodes = laying.standing_nodes(self.api)
        record.pods = laying.standing_pods(self.api)
        record.classes = laying.standing_classes(self.api)

    def _wait_for_tries(self) -> None:
        """Until every pod that the scheduler can try has been tried."""
        while any(_untried(pod) for pod in laying.standing_pods(self.api)):
            time.sleep(0.1)

    def _wait_for_nodes(self, asking: Asking, number: int) -> None:
        """Until the scheduler speaks of so many nodes, all that there are."""
        seen = -1
        while seen != number:
            self._sentinels += 1
            name = f"sentinel-{self._sentinels}"
            answer = asking.ask([_sentinel(name)])[name]
            if isinstance(answer, RefusedError):
                raise answer
            seen = read(answer.text).nodes

    def _restart(self) -> None:
        """Lets a new scheduler find everything as it stands."""
        scheduler = self.plane.scheduler
        if scheduler is not None:
            scheduler.restart(grace=2.0)

    def _narrowed(self, asking: Asking, clusters: list[Cluster], record: Record) -> None:
        """Every pod about every node of its cluster, and again about what the answer hides."""
        first = [
            Asked(Measure.NARROWED, each.name, pod, node=node["metadata"]["name"], variant=AS_IS)
            for each in clusters
            for pod in each.asking
            for node in each.nodes
        ]
        self._ask_narrowed(asking, first, record)
        again = [
            msgspec.structs.replace(asked, variant=variant)
            for asked in first
            if asked.text
            for variant in hidden(read(asked.text))
        ]
        self._ask_narrowed(asking, again, record)

    def _ask_narrowed(self, asking: Asking, questions: list[Asked], record: Record) -> None:
        clones = [_clone(asked) for asked in questions]
        answers = asking.ask(clones)
        for clone, asked in zip(clones, questions, strict=True):
            _keep(record, asked, answers[clone["metadata"]["name"]])

    def _histogram(self, asking: Asking, clusters: list[Cluster], record: Record) -> None:
        questions = [
            (each.name, pod, _renamed(blocked(pod), "h"))
            for each in clusters
            for pod in each.asking
        ]
        answers = asking.ask([clone for _, _, clone in questions])
        for group, pod, clone in questions:
            answer = answers[clone["metadata"]["name"]]
            _keep(record, Asked(Measure.HISTOGRAM, group, pod), answer)

    def _nominated(self, asking: Asking, clusters: list[Cluster], record: Record) -> None:
        """Pods with a nomination of their own: made while a gate holds them, then let go."""
        made = {}
        for each in clusters:
            gated = blocked(each.nominated)
            gates = [{"name": f"{words.DOMAIN}/waits"}]
            gated = {**gated, "spec": {**gated["spec"], "schedulingGates": gates}}
            found = asking.created(gated)
            if isinstance(found, RefusedError):
                record.refused.append(str(found))
                continue
            path = laying.path_of(gated)
            nomination = {"nominatedNodeName": each.nominated["status"]["nominatedNodeName"]}
            self.api.patch(f"{path}/status", {"status": nomination})
            let_go = self.api.patch(path, {"spec": {"schedulingGates": None}})
            asked = Asked(Measure.NOMINATED, each.name, each.nominated)
            asked.stored = laying.stored(let_go, "Pod")
            made[gated["metadata"]["name"]] = asked
        answers = asking.wait(made)
        for name, asked in made.items():
            _keep(record, asked, answers[name])
        asking.remove()

    def _bound(
        self,
        asking: Asking,
        clusters: list[Cluster],
        record: Record,
        rounds: int = BINDING_ROUNDS,
    ) -> None:
        """Pods that may be bound, one of each cluster at a time; the next one meets it there."""
        for index in range(rounds):
            questions = [(each.name, _bindable(each.asking[index])) for each in clusters]
            answers = asking.ask([pod for _, pod in questions])
            for group, pod in questions:
                answer = answers[pod["metadata"]["name"]]
                asked = Asked(Measure.BOUND, group, pod)
                if isinstance(answer, Answer) and answer.node:
                    asked.node = answer.node
                    asked.stored = laying.stored(self.api.get(laying.path_of(pod)), "Pod")
                _keep(record, asked, answer)


def _clone(asked: Asked) -> dict:
    """The pod that asks a narrowed question."""
    variant = Variant(asked.variant)
    where = asked.node.rpartition("-")[2]
    return _renamed(narrow(asked.pod, asked.node, variant), f"{where}-{variant.name.lower()}")


def _bindable(pod: dict) -> dict:
    """The pod as it is, among the nodes of its group; it must not evict its neighbours."""
    bindable = _renamed(pinned(pod), "b")
    bindable["spec"]["preemptionPolicy"] = "Never"
    return bindable


def _keep(record: Record, asked: Asked, answer: Answer | RefusedError) -> None:
    if isinstance(answer, RefusedError):
        record.refused.append(str(answer))
        return
    asked.text = answer.text
    record.asked.append(asked)


def _renamed(pod: dict, suffix: str) -> dict:
    name = f"{pod['metadata']['name']}-{suffix}".replace("_", "-")
    metadata = {**pod["metadata"], "name": name, "uid": f"uid-{name}"}
    return {**pod, "metadata": metadata, "spec": dict(pod["spec"])}


def _sentinel(name: str) -> dict:
    """A pod that asks for nothing and fits nowhere."""
    return blocked(
        {
            "metadata": {"name": name, "namespace": "default", "labels": {words.ROLE: "asking"}},
            "spec": {"containers": [{"name": "main", "image": "none"}]},
        }
    )


def _untried(pod: dict) -> bool:
    """Whether the scheduler will still try a standing pod."""
    spec, conditions = pod["spec"], pod["status"].get("conditions", ())
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and not spec.get("resourceClaims")
        and spec["schedulerName"] in words.PROFILES
        and not any(each["type"] == "PodScheduled" for each in conditions)
    )
