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
        self._threads = []
        with Admin(self._cluster) as admin:
            for path, there, take in (
                ("/api/v1/pods", self._witness.pod, self._pod),
                (EVENTS, self._witness.knew, self._event),
            ):
                listed = admin.get(path)
                for raw in listed["items"]:
                    there(raw)
                given = path, take, listed["metadata"]["resourceVersion"]
                self._threads.append(threading.Thread(target=self._watch, args=given, daemon=True))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        for thread in self._threads:
            thread.join(10)

    def _pod(self, what, raw):
        if what != "DELETED":
            self._witness.pod(raw)

    def _event(self, what, raw):
        self._witness.event(raw, gone=what == "DELETED")

    def _watch(self, path, take, version):
        while not self._ending.is_set() and not self.broken:
            connection = connect(self._cluster)
            asked = f"{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
            with (
                contextlib.closing(connection),
                contextlib.suppress(OSError, http.client.HTTPException),
            ):
                connection.request("GET", asked, headers=authorized(self._cluster))
                connection.sock.settimeout(POLL_SECONDS)
                with connection.getresponse() as answer:
                    version = self._read(answer, take, version)

    def _read(self, answer, take, version):
        rest = b""
        while not self._ending.is_set():
            try:
                chunk = answer.read1()
            except TimeoutError:
                continue
            if not chunk:
                return version
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.broken.append(event["object"]["message"])
                    return version
                if event["type"] != "BOOKMARK":
                    take(event["type"], event["object"])
                version = event["object"]["metadata"]["resourceVersion"]
        return version


def connect(cluster):
    """A connection to the API server."""
    parts = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    return http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=30)


def authorized(cluster):
    """The admin's header."""
    return {"Authorization": f"Bearer {cluster.token}"}
