"""A stand-in for the API server whose answers a test scripts; what the real one does is tested e2e.

It serves discovery, lists of the objects that a test puts in, and watches that a test writes to.
"""

import asyncio
import json
import threading
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

from tests import builders

KINDS = {"pods": "Pod", "nodes": "Node", "namespaces": "Namespace"}


class ScriptedApi:
    """Pods and nodes; ``scripts[kind]`` holds answers that come before the usual ones."""

    def __init__(self):
        self.objects = {kind: [] for kind in KINDS}
        self.scripts = {kind: [] for kind in (*KINDS, "discovery")}
        self.version = None
        self.requests = []
        self.watches = {}
        self._open = []
        self.url = ""

    @asynccontextmanager
    async def serving(self):
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._runner = runner
        try:
            yield self
        finally:
            await self.close()

    async def close(self):
        """Answer nobody any more."""
        for lines in self._open:
            lines.put_nowait(None)
        await self._runner.cleanup()

    def tell(self, kind, *events):
        """Write events to the watch of a kind: (type, object), bytes as they are, or None: cut."""
        for event in events:
            line = event
            if isinstance(event, tuple):
                line = json.dumps({"type": event[0], "object": event[1]}).encode() + b"\n"
            self.watches[kind].put_nowait(line)

    async def _answer(self, request):
        token = request.headers.get("Authorization", "")
        self.requests.append(f"{request.path_qs} {token}".strip())
        if request.path == "/api/v1" and self.scripts["discovery"]:
            return await self.scripts["discovery"].pop(0)(request)
        match request.path.strip("/").split("/"):
            case ["version"] if self.version:
                return web.json_response(self.version)
            case ["api"]:
                return web.json_response({"versions": ["v1"]})
            case ["apis"]:
                return web.json_response({"groups": []})
            case ["api", "v1"]:
                # kopf watches nothing before it has found namespaces in discovery.
                known = [_described(kind) for kind in KINDS]
                return web.json_response({"resources": known})
            case ["api", "v1", kind]:
                if self.scripts[kind]:
                    return await self.scripts[kind].pop(0)(request)
                if "watch" in request.query:
                    return await self.watch(request, kind)
                return page(kind, self.objects.get(kind, []))
        return web.json_response({"kind": "Status", "code": 404}, status=404)

    async def watch(self, request, kind):
        lines = self.watches[kind] = asyncio.Queue()
        self._open.append(lines)
        answer = web.StreamResponse()
        answer.enable_chunked_encoding()
        await answer.prepare(request)
        while (line := await lines.get()) is not None:
            await answer.write(line)
        if request.transport is not None:
            request.transport.abort()
        return answer


@contextmanager
def api():
    """A scripted API server in a thread of its own, as kopf waits for tasks beside it."""
    scripted = ScriptedApi()
    scripted.objects = {"pods": [builders.pod()], "nodes": [builders.node()]}
    ready, done = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve():
        async with scripted.serving():
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(5)
    try:
        yield scripted
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def page(kind, items, more=""):
    """A page of a list; ``more`` is the continue token."""
    metadata = {"resourceVersion": "1", **({"continue": more} if more else {})}
    return web.json_response(
        {"kind": f"{KINDS[kind]}List", "apiVersion": "v1", "metadata": metadata, "items": items}
    )


def refusal(status):
    """An answer with a Status object, for a script."""

    async def answer(_):
        return web.json_response({"kind": "Status", "code": status}, status=status)

    return answer


def paged(kind, items, more):
    """A page with a continue token, for a script."""

    async def answer(_):
        return page(kind, items, more)

    return answer


def _described(kind):
    return {
        "name": kind,
        "kind": KINDS[kind],
        "singularName": kind[:-1],
        "namespaced": kind == "pods",
        "verbs": ["list", "watch", "patch"],
    }
