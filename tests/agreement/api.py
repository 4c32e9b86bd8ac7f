"""Many requests to an API server at once, over connections that stay open."""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tests.controlplane import Cluster

T = TypeVar("T")
R = TypeVar("R")
MERGE = "application/merge-patch+json"
_WORKERS = 8


class RefusedError(RuntimeError):
    """The API server does not accept an object; says why."""


class Api:
    """The API server of a cluster, as its admin."""

    def __init__(self, cluster: Cluster) -> None:
        self.headers = {"Authorization": f"Bearer {cluster.token}"}
        self._address = urlsplit(cluster.url).netloc
        self._tls = ssl.create_default_context(cafile=str(cluster.ca_file))
        self._own = threading.local()
        self._lines: list[http.client.HTTPSConnection] = []
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="api")

    def close(self) -> None:
        """Ends the threads and closes the connections."""
        self._pool.shutdown()
        for line in self._lines:
            line.close()

    def each(self, act: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """What ``act`` returns for each item, several at a time; raises what one of them raises."""
        return list(self._pool.map(act, items))

    def get(self, path: str) -> dict[str, Any]:
        """Reads a path."""
        return self.send("GET", path)

    def create(self, path: str, item: dict) -> dict[str, Any]:
        """Creates an object under a path such as ``/api/v1/nodes``."""
        return self.send("POST", path, item)

    def patch(self, path: str, change: dict) -> dict[str, Any]:
        """Merges a change into an object or its status."""
        return self.send("PATCH", path, change, MERGE)

    def delete(self, path: str) -> None:
        """Deletes an object or what a selector in the path chooses; what is gone is gone."""
        self.send("DELETE", path, missing=True)

    def send(
        self,
        method: str,
        path: str,
        body: dict | None = None,
        kind: str = "application/json",
        *,
        missing: bool = False,
    ) -> dict[str, Any]:
        """One request. Raises RefusedError where the server says no.

        A connection that the server closed meanwhile is opened anew once; a POST whose first try
        did arrive is then answered with a conflict, and the object is read.
        """
        data = json.dumps(body).encode() if body is not None else None
        headers = {**self.headers, "Content-Type": kind}
        again = False
        while True:
            line = self.connection()
            try:
                line.request(method, path, data, headers)
                response = line.getresponse()
                text = response.read()
            except (http.client.HTTPException, ConnectionError):
                self._own.line = None
                if again:
                    raise
                again = True
                continue
            if response.status == 409 and method == "POST" and again and body is not None:
                return self.get(f"{path}/{body['metadata']['name']}")
            if response.status == 404 and missing:
                return {}
            if response.status >= 300:
                raise RefusedError(f"{method} {path}: {response.status} {text.decode()}")
            return json.loads(text)

    def connection(self) -> http.client.HTTPSConnection:
        """This thread's own connection."""
        line = getattr(self._own, "line", None)
        if line is None:
            line = self._own.line = self.open()
            self._lines.append(line)
        return line

    def open(self, timeout: float = 60) -> http.client.HTTPSConnection:
        """A new connection, for instance for a watch."""
        return http.client.HTTPSConnection(self._address, context=self._tls, timeout=timeout)
