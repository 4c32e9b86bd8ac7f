"""How the scheduler is asked about pods: create them, watch for its answers, remove them."""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from . import vocabulary as words
from .api import Api, RefusedError
from .laying import PODS, create_pod, pods_of

PATIENCE = 90.0
"""Seconds until a missing answer is an error; a single question gets fewer."""
CHUNK = 1500
"""Pods that stand in the scheduler's queue at once."""


class Answer(msgspec.Struct):
    """What the scheduler did with a pod: bound it to a node, or said why not."""

    node: str
    text: str


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Spec(msgspec.Struct):
    node: str = msgspec.field(name="nodeName", default="")


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Metadata(msgspec.Struct):
    name: str


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_EVENTS = msgspec.json.Decoder(_Event)


class Asking:
    """A watch on the pods that ask, from its start to its end."""

    def __init__(self, api: Api, patience: float = PATIENCE) -> None:
        self.api = api
        self._patience = patience
        self._answers: dict[str, Answer] = {}
        self._news = threading.Condition()
        self._failure: Exception | None = None
        self._line: http.client.HTTPSConnection | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._watch, name="answers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the watch."""
        self._ended = True
        if self._line is not None and self._line.sock is not None:
            with contextlib.suppress(OSError):
                self._line.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=5)

    def ask(self, pods: list[dict]) -> dict[str, Answer | RefusedError]:
        """The answer for each pod by name, or why the API server does not accept it.

        The pods are removed afterwards, but for those that were bound.
        """
        answers: dict[str, Answer | RefusedError] = {}
        for start in range(0, len(pods), CHUNK):
            chunk = pods[start : start + CHUNK]
            answers |= self._ask(chunk)
        return answers

    def created(self, pod: dict) -> dict | RefusedError:
        """Creates a pod that asks; returns it as it is stored, or the refusal."""
        try:
            return create_pod(self.api, pod)
        except RefusedError as error:
            return error

    def wait(self, names: Iterable[str]) -> dict[str, Answer]:
        """The answers for pods that were created, once all are there."""
        wanted = set(names)
        deadline = time.monotonic() + self._patience
        with self._news:
            while missing := wanted - self._answers.keys():
                if self._failure is not None:
                    raise self._failure
                if time.monotonic() > deadline:
                    some = ", ".join(sorted(missing)[:5])
                    raise TimeoutError(f"no answer about {len(missing)} pods, such as {some}")
                self._news.wait(1.0)
            return {name: self._answers.pop(name) for name in wanted}

    def remove(self) -> None:
        """Removes the asking pods that are not bound, and those that were bound and ask no more."""
        for namespace in words.NAMESPACES:
            selector = quote(f"{words.ROLE}=asking")
            chosen = f"labelSelector={selector}&fieldSelector=spec.nodeName%3D"
            self.api.delete(f"{pods_of(namespace)}?{chosen}")

    def _ask(self, pods: list[dict]) -> dict[str, Answer | RefusedError]:
        found = self.api.each(self.created, pods)
        names = [pod["metadata"]["name"] for pod in pods]
        refused = {
            name: each
            for name, each in zip(names, found, strict=True)
            if isinstance(each, RefusedError)
        }
        answers = self.wait(name for name in names if name not in refused)
        self.remove()
        return {**answers, **refused}

    def _watch(self) -> None:
        """Takes every event; a new watch begins with every pod as it is, so none is missed."""
        while not self._ended:
            try:
                self._follow()
            except Exception as error:
                # The API server drops a watcher that cannot keep up; anything else is said.
                if not isinstance(error, http.client.HTTPException | ConnectionError):
                    with self._news:
                        self._failure = error
                        self._news.notify_all()
                    return

    def _follow(self) -> None:
        path = f"{PODS}?watch=1&labelSelector={quote(f'{words.ROLE}=asking')}"
        with contextlib.closing(self.api.open(timeout=PATIENCE)) as line:
            self._line = line
            line.request("GET", path, headers=self.api.headers)
            with line.getresponse() as stream:
                while event := stream.readline():
                    self._take(_EVENTS.decode(event))

    def _take(self, event: _Event) -> None:
        pod = event.object
        text = next(
            (
                condition.message
                for condition in pod.status.conditions
                if condition.type == "PodScheduled"
                and condition.status == "False"
                and condition.reason != "SchedulingGated"
            ),
            "",
        )
        if event.type != "DELETED" and (pod.spec.node or text):
            with self._news:
                self._answers[pod.metadata.name] = Answer(pod.spec.node, text)
                self._news.notify_all()
