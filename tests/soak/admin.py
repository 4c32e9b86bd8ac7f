"""The admin's hands and eyes: requests without a process for each, and watches of everything."""

import contextlib
import http.client
import json
import ssl
import threading
from urllib.parse import urlsplit

MERGE = "application/merge-patch+json"
POLL_SECONDS = 1.0
"""A watch looks so often whether it is to end."""
EVENTS = "/apis/events.k8s.io/v1/events"


class Admin:
    """Requests to the API server of a cluster as its admin, one after the other."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def create(self, path, body):
        """Create an object; return it."""
        return self._ask("POST", path, body)

    def patch(self, path, body):
        """Merge into an object; None where there is none."""
        return self._ask("PATCH", path, body, MERGE, missing=True)

    def delete(self, path):
        """Delete an object at once, if it is there."""
        self._ask("DELETE", f"{path}?gracePeriodSeconds=0", None, missing=True)

    def get(self, path):
        """Read an object or a list; None where there is none."""
        return self._ask("GET", path, None, missing=True)

    def _ask(self, method, path, body, content_type="application/json", *, missing=False):
        for _ in range(3):
            if self._connection is None:
                self._connection = connect(self._cluster)
            try:
                self._connection.request(
                    method,
                    path,
                    None if body is None else json.dumps(body),
                    {**authorized(self._cluster), "Content-Type": content_type},
                )
                answer = self._connection.getresponse()
                read = answer.read()
            except (OSError, http.client.HTTPException):
                self.__exit__()  # the server has closed it meanwhile
                continue
            if missing and answer.status == 404:
                return None
            assert answer.status < 400, f"{method} {path}: {answer.status} {read.decode()}"
            return json.loads(read)
        raise AssertionError(f"{method} {path}: no answer")


class Onlooker:
    """Watches all pods and Events for a witness, from now on."""

    def __init__(self, cluster, witness):
        self._cluster = cluster
        self._witness = witness
        self._ending = threading.Event()
        self.broken = []
        """Why it has missed something, if it has."""

    def __enter__(self):
        watches = ("/api/v1/pods", self._pod), (EVENTS, self._event)
        begun = [threading.Event() for _ in watches]
        self._threads = [
            threading.Thread(target=self._watch, args=(*each, at), daemon=True)
            for each, at in zip(watches, begun, strict=True)
        ]
        for thread, at in zip(self._threads, begun, strict=True):
            thread.start()
            assert at.wait(60), "the watch does not begin"
        return self

    def __exit__(self, *_):
        self._ending.set()
        for thread in self._threads:
            thread.join(10)

    def _pod(self, what, raw, _):
        if what != "DELETED":
            self._witness.pod(raw)

    def _event(self, what, raw, begun):
        if begun:
            self._witness.event(raw, gone=what == "DELETED")
        else:
            self._witness.knew(raw)

    def _watch(self, path, take, begun):
        """Watch until the end; ``begun`` is set once all that was there has been told."""
        since = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        while not self._ending.is_set() and not self.broken:
            connection = connect(self._cluster)
            asked = f"{path}?watch=true&allowWatchBookmarks=true&{since}"
            with (
                contextlib.closing(connection),
                contextlib.suppress(OSError, http.client.HTTPException),
            ):
                connection.request("GET", asked, headers=authorized(self._cluster))
                connection.sock.settimeout(POLL_SECONDS)
                with connection.getresponse() as answer:
                    for event in self._read(answer):
                        raw = event["object"]
                        if event["type"] == "ERROR":
                            self.broken.append(raw["message"])
                            break
                        if event["type"] != "BOOKMARK":
                            take(event["type"], raw, begun.is_set())
                        elif raw["metadata"].get("annotations"):
                            begun.set()
                        if begun.is_set():
                            since = f"resourceVersion={raw['metadata']['resourceVersion']}"

    def _read(self, answer):
        """What a watch tells, until its end or ours."""
        rest = b""
        while not self._ending.is_set():
            try:
                chunk = answer.read1()
            except TimeoutError:
                continue
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from map(json.loads, lines)


def connect(cluster):
    """A connection to the API server."""
    parts = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    return http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=30)


def authorized(cluster):
    """The admin's header."""
    return {"Authorization": f"Bearer {cluster.token}"}
