"""A stand-in for the API server, for load only: `python -m bench.api_server PODS NODES`.

It is no Kubernetes: it has the lists, watches, patches and Events that the operator and the command
use, of nodes and pods that are made up (see fleet.py), on 127.0.0.1 and without TLS. Its address is
the first line that it prints. What it is told to do is under /control.
"""

import argparse
import asyncio
import json
import random
import time
from collections import deque
from collections.abc import Sequence

from aiohttp import web

from bench.fleet import HANGING, Fleet

BOOKMARK_SECONDS = 20.0
TICK_SECONDS = 0.02
KEPT_EVENTS = 2_000
"""For watches that begin at the version of a list."""
MOST_EVENTS = 100_000
"""No control request makes more."""


class StandIn:
    """Answers requests about a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.writes = {"PATCH": 0, "POST": 0}
        self._watches: dict[str, set[web.StreamResponse]] = {kind: set() for kind in KINDS}
        self._kept: deque[tuple[int, str, bytes]] = deque(maxlen=KEPT_EVENTS)
        self._random = random.Random(7)
        self._stream: asyncio.Task[None] | None = None
        self.app = web.Application()
        one = "/api/v1/namespaces/{namespace}/pods/{name}"
        self.app.add_routes(
            [
                web.get("/api", _fixed({"versions": ["v1"]})),
                web.get("/apis", _fixed({"groups": []})),
                web.get("/api/v1", _fixed({"resources": list(map(_described, KINDS))})),
                web.get("/api/v1/{kind:pods|nodes|namespaces}", self.listed),
                web.get(one, self.pod),
                web.get("/api/v1/namespaces/{namespace}/{kind}", _fixed(EMPTY)),
                web.patch(f"{one}/status", self.patched),
                web.post("/apis/events.k8s.io/v1/namespaces/{namespace}/events", self.written),
                web.patch("/apis/events.k8s.io/v1/{rest:.*}", self.written),
                web.post("/control/events", self.push),
                web.post("/control/flip", self.flip),
                web.get("/control/writes", self.told),
            ]
        )

    async def listed(self, request: web.Request) -> web.StreamResponse:
        """A page of a list, or a watch."""
        kind, asked = request.match_info["kind"], request.query
        if asked.get("watch") in ("true", "1"):
            return await self.watch(request, kind)
        selector = asked.get("fieldSelector")
        numbers = self._selected(kind, selector) if selector else range(self.fleet.count(kind))
        start = int(asked.get("continue", "0"))
        end = start + int(asked.get("limit") or len(numbers) or 1)
        more = f',"continue":"{end}"' if end < len(numbers) else ""
        head = (
            f'{{"kind":"{KINDS[kind]}List","apiVersion":"v1",'
            f'"metadata":{{"resourceVersion":"{self.fleet.version}"{more}}},"items":['
        )
        items = b",".join([self.fleet.render(kind, n) for n in numbers[start:end]])
        return web.Response(body=head.encode() + items + b"]}", content_type="application/json")

    async def watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        """Events from a version on, and bookmarks."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        since = int(request.query.get("resourceVersion") or 0)
        missed = [line for version, of, line in self._kept if of == kind and version > since]
        await response.write(b"".join(missed))
        self._watches[kind].add(response)
        try:
            while True:
                await asyncio.sleep(BOOKMARK_SECONDS)
                mark = {
                    "kind": KINDS[kind],
                    "metadata": {"resourceVersion": f"{self.fleet.version}"},
                }
                await response.write(
                    json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n"
                )
        except ConnectionError:
            return response
        finally:
            self._watches[kind].discard(response)

    async def pod(self, request: web.Request) -> web.Response:
        """One pod."""
        body = self.fleet.render("pods", self.fleet.pod_number(request.match_info["name"]))
        return web.Response(
            body=b'{"kind":"Pod","apiVersion":"v1",' + body[1:], content_type="application/json"
        )

    async def patched(self, request: web.Request) -> web.Response:
        """Takes the annotations of an apply on a pod's status, and tells the watches."""
        self.writes["PATCH"] += 1
        number = self.fleet.pod_number(request.match_info["name"])
        marks = json.loads(await request.read())["metadata"].get("annotations", {})
        inner = json.dumps({**marks, "example.com/none": ""})[1:-1]
        # The template has `"MARKS":""`: the value of the last key is its.
        self.fleet.marks[number] = inner.removesuffix('": ""').removeprefix('"').encode()
        await self._tell("pods", [number])
        return web.json_response({"kind": "PartialObjectMetadata"})

    async def written(self, request: web.Request) -> web.Response:
        """Takes an Event."""
        self.writes["POST"] += 1
        await request.read()
        return web.json_response({"kind": "PartialObjectMetadata"}, status=201)

    async def push(self, request: web.Request) -> web.Response:
        """Changes pods that are picked at random.

        ?rate=A SECOND&seconds=FOR SO LONG; &turnover=A SECOND ends so many that hold a GPU, and
        lets others that have ended begin anew.
        """
        asked = {key: float(value) for key, value in request.query.items()}
        if asked["rate"] * asked["seconds"] > MOST_EVENTS:
            raise web.HTTPBadRequest(text=f"at most {MOST_EVENTS} events")
        self._stream = asyncio.create_task(self._push(**asked))
        return web.json_response({})

    async def flip(self, _: web.Request) -> web.Response:
        """Cordons the one node that pods hang on, or uncordons it."""
        self.fleet.cordoned = not self.fleet.cordoned
        await self._tell("nodes", [0])
        return web.json_response({"cordoned": self.fleet.cordoned})

    async def told(self, _: web.Request) -> web.Response:
        """How many writes there were."""
        return web.json_response(self.writes)

    async def _push(self, rate: float, seconds: float, turnover: float = 0) -> None:
        begun, sent, turned = time.monotonic(), 0, 0
        while (passed := time.monotonic() - begun) < seconds:
            due = int(passed * rate) - sent
            # Pods that run: those that wait change when somebody writes on them.
            first, last = self.fleet.waiting, self.fleet.pods
            await self._tell("pods", [self._random.randrange(first, last) for _ in range(due)])
            sent += due
            for _ in range(int(passed * turnover) - turned):
                turned += 1
                await self._tell("pods", self._turned())
            await asyncio.sleep(TICK_SECONDS)

    def _turned(self) -> list[int]:
        """One pod that gives its GPUs back, and one that takes some again."""
        changed = [self._random.randrange(self.fleet.waiting, self.fleet.gpus)]
        if self.fleet.done:
            changed.append(self.fleet.done.pop())
        self.fleet.done.add(changed[0])
        return changed

    async def _tell(self, kind: str, numbers: list[int]) -> None:
        lines = []
        for number in numbers:
            self.fleet.touch(kind, number)
            lines.append(self.fleet.line(kind, number))
            self._kept.append((self.fleet.version, kind, lines[-1]))
        for response in list(self._watches[kind]):
            try:
                await response.write(b"".join(lines))
            except ConnectionError:
                self._watches[kind].discard(response)

    def _selected(self, kind: str, selector: str) -> Sequence[int]:
        """The numbers of what a selector selects; by spec.nodeName as fast as an index."""
        numbers: Sequence[int] = range(self.fleet.count(kind))
        for term in selector.split(","):
            match term.partition("="):
                case ("spec.nodeName", _, node):
                    numbers = self.fleet.pods_on(node)
                case ("status.phase!", _, "Succeeded" | "Failed"):
                    pass  # nothing here ever ends
                case ("status.nominatedNodeName!", _, ""):
                    numbers = []
                case _:
                    raise web.HTTPBadRequest(text=f"{term}: this stand-in does not select by that")
        return numbers


KINDS = {"pods": "Pod", "nodes": "Node", "namespaces": "Namespace"}
EMPTY = {"metadata": {}, "items": []}


def _fixed(document):
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(document)

    return answer


def _described(kind: str) -> dict[str, object]:
    return {
        "name": kind,
        "kind": KINDS[kind],
        "singularName": kind[:-1],
        "namespaced": kind == "pods",
        "verbs": ["get", "list", "watch", "patch"],
    }


async def serve(fleet: Fleet) -> None:
    """Serve until somebody ends the process."""
    runner = web.AppRunner(StandIn(fleet).app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pods", type=int)
    parser.add_argument("nodes", type=int)
    parser.add_argument("--no-waiting", action="store_true", help="no pod waits")
    parser.add_argument("--hanging", type=int, default=HANGING, help="pods on the node that flips")
    given = parser.parse_args()
    asyncio.run(
        serve(Fleet(given.pods, given.nodes, waiting=not given.no_waiting, hanging=given.hanging))
    )
