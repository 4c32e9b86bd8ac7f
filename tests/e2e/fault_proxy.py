"""A proxy before the API server that fails in the ways in which a way to a server can fail.

The operator talks plain HTTP to it; it talks TLS to the server. Everything that is not told to fail
passes as it is. It runs in a thread of its own, so a test tells it what to do while things happen.
"""

import asyncio
import ssl
import threading
from contextlib import contextmanager

import aiohttp
from aiohttp import web

HOP_HEADERS = {"connection", "content-length", "host", "transfer-encoding"}
TWIST_SECONDS = 0.3


class FaultProxy:
    """One way to the API server of a cluster; ``requests`` holds "METHOD PATH?QUERY STATUS"."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._faults = []
        self._cuts = {}
        self._stalled = set()
        self._twists = False
        self.requests = []
        self.page_size = None
        """Objects a page, whatever is asked for."""

    def __enter__(self):
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    @contextmanager
    def answering(self, status, *, kind="", watch=None, paged=False, times=None, headers=None):
        """Answer requests with a status instead of asking the server.

        Args:
            status: of the answer.
            kind: requests for this kind only, such as pods; all, if not given.
            watch: watches only (True) or all but watches (False).
            paged: only requests for a further page of a list.
            times: so many requests only.
            headers: of the answer.
        """
        left = [times]

        def answer(request):
            asked = request.query
            if (
                (kind and request.path.rpartition("/")[2] != kind)
                or (watch is not None and watch != ("watch" in asked))
                or (paged and "continue" not in asked)
                or left[0] == 0
            ):
                return None
            if left[0]:
                left[0] -= 1
            body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status}
            return web.json_response(body, status=status, headers=headers)

        self._faults.append(answer)
        try:
            yield
        finally:
            self._faults.remove(answer)

    @contextmanager
    def delaying(self, seconds):
        """Keep every answer back for a while."""

        async def wait():
            await asyncio.sleep(seconds)

        def fault(_):
            return wait()

        self._faults.append(fault)
        try:
            yield
        finally:
            self._faults.remove(fault)

    @contextmanager
    def stalling(self, *kinds):
        """Say nothing more about some kinds; the connections stay open."""
        self._stalled.update(kinds)
        try:
            yield
        finally:
            self._stalled.difference_update(kinds)

    @contextmanager
    def losing(self, kind):
        """Take requests for a kind and neither pass them on nor answer them, until all is over."""
        over = asyncio.Event()

        async def lose():
            await over.wait()
            return web.Response(status=502)

        def fault(request):
            return lose() if request.path.rpartition("/")[2] == kind else None

        self._faults.append(fault)
        try:
            yield
        finally:
            self._faults.remove(fault)
            self._loop.call_soon_threadsafe(over.set)

    @contextmanager
    def twisting(self):
        """Tell every event of a watch twice, and those that come together in the wrong order."""
        self._twists = True
        try:
            yield
        finally:
            self._twists = False

    def cut(self, *kinds, within_line=False):
        """Cut the open watches of some kinds: now, or in the middle of the next line of each."""
        for kind in kinds:
            for watch in self._cuts.get(kind, ()):
                self._loop.call_soon_threadsafe(watch.arm, within_line)

    def seen(self, part):
        """How many requests held this text."""
        return sum(part in each for each in self.requests)

    def _run(self, started):
        asyncio.run(self._serve(started))

    async def _serve(self, started):
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        context = ssl.create_default_context(cafile=self._cluster.ca_file)
        connector = aiohttp.TCPConnector(limit=0, ssl=context)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as self._session:
            app = web.Application(client_max_size=1 << 24)
            app.router.add_route("*", "/{path:.*}", self._answer)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            started.set()
            await self._ended.wait()
            await runner.cleanup()

    async def _answer(self, request):
        kind = request.path.rpartition("/")[2]
        note = len(self.requests)
        self.requests.append(f"{request.method} {request.path_qs}")
        await self._unless_stalled(kind)
        for fault in list(self._faults):
            answer = fault(request)
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer is not None:
                self.requests[note] += f" {answer.status}"
                return answer
        query = dict(request.query)
        if self.page_size and "limit" in query:
            query["limit"] = str(self.page_size)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_HEADERS}
        try:
            async with self._session.request(
                request.method,
                self._cluster.url + request.path,
                params=query,
                headers=headers,
                data=await request.read() or None,
            ) as upstream:
                self.requests[note] += f" {upstream.status}"
                if "watch" in query and upstream.status == 200:
                    return await self._watch(request, upstream, kind)
                body = await upstream.read()
                await self._unless_stalled(kind)
                kept = {k: v for k, v in upstream.headers.items() if k.lower() not in HOP_HEADERS}
                return web.Response(status=upstream.status, body=body, headers=kept)
        except (aiohttp.ClientError, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)

    async def _watch(self, request, upstream, kind):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        watch = _Watch()
        self._cuts.setdefault(kind, []).append(watch)
        reader = asyncio.create_task(watch.read(upstream.content))
        try:
            while (line := await watch.lines.get()) is not None:
                lines = [line]
                if self._twists:
                    await asyncio.sleep(TWIST_SECONDS)
                    lines = _twisted(lines + watch.waiting())
                await self._unless_stalled(kind)
                if watch.cut:
                    await response.write(lines[0][: len(lines[0]) // 2])
                    break
                await response.write(b"".join(lines))
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass  # the operator has closed it
        finally:
            reader.cancel()
            self._cuts[kind].remove(watch)
        return response

    async def _unless_stalled(self, kind):
        while kind in self._stalled:
            await asyncio.sleep(0.05)


class _Watch:
    """An open watch, and whether it is to be cut."""

    def __init__(self):
        self.lines = asyncio.Queue()
        self.cut = False

    def arm(self, within_line):
        self.cut = within_line
        if not within_line:
            self.lines.put_nowait(None)

    async def read(self, content):
        rest = b""
        try:
            async for chunk in content.iter_any():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    self.lines.put_nowait(line + b"\n")
        except aiohttp.ClientError:
            pass  # a cut is passed on as a cut
        self.lines.put_nowait(None)

    def waiting(self):
        """Take what has come meanwhile, but for the end."""
        found = []
        while not self.lines.empty():
            line = self.lines.get_nowait()
            if line is None:
                self.lines.put_nowait(None)
                break
            found.append(line)
        return found


def _twisted(lines):
    """Backwards, and then backwards again; a bookmark, which says what has been told, is last."""
    marks = [line for line in lines if b'"BOOKMARK"' in line[:40]]
    events = [line for line in reversed(lines) if line not in marks]
    return events + events + marks
