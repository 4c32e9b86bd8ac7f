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
from .settling import settle, wait_for_nodes
from .text import read

AS_IS = Variant.AS_IS
BINDING_ROUNDS = 4
"""Pods of each cluster that may be bound, one after the other."""


class Batch:
    """Lays clusters, asks, and keeps what was answered."""

    def __init__(self, plane: ControlPlane, version: str) -> None:
        self.plane = plane
        self.version = version
        self.api = Api(plane)
        laying.make_namespaces(self.api)

    def close(self) -> None:
        """Ends the connections."""
        self.api.close()

    def single(self, objects: list[dict], asked: Asked) -> Record:
        """One question about these objects alone."""
        record = Record(self.version, restarted=False)
        asking = Asking(self.api, patience=10.0)
        try:
            settle(self.api, asking, objects, record)
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
        record = Record(self.version, restarted=restart)
        asking = Asking(self.api)
        try:
            with self._timed(record, "laying"):
                classes = [laying.device_class(f"class-{i}", each) for i, each in enumerate(served)]
                stand = [each for one in clusters for each in one.objects]
                settle(self.api, asking, [*classes, *stand], record)
                if restart:
                    self._restart()
                wait_for_nodes(asking, len(record.nodes))
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
