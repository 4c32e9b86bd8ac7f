"""What the session under kopf must hold for: contracts with kopf 1.45 and aiohttp 3.14.

kopf itself runs here, against a stand-in for the API server. A failure after an upgrade says which
habit of theirs has changed.
"""

import asyncio
import logging

import pytest
from aiohttp import web

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller import watcher
from gpu_triage.controller.access import Access
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.transport import Transport
from gpu_triage.core.rules import Rules
from gpu_triage.publish.write import Kind, UnreachableError, Write
from tests import builders
from tests.unit.scripted_api import ScriptedApi, paged, refusal

GONE = ("ERROR", {"kind": "Status", "code": 410})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setenv("POD_ID", "test")
    monkeypatch.setattr(watcher, "BACKOFFS", (0.01,) * 100)
    monkeypatch.setattr(watcher, "RELIST_SECONDS", 0.01)
    monkeypatch.setattr(watcher, "EXIT_SECONDS", None)
    logging.getLogger("kopf").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("kopf").setLevel(logging.NOTSET)


class Scene:
    """kopf over our transport, against a scripted API server."""

    def __init__(self, api, token_file=None):
        self.api = api
        self.inventory = Inventory(Rules())
        self.access = Access(
            server=api.url, source="test", inside=True, token="t", token_file=token_file
        )
        self.transport = Transport(self.access, "test")
        feeds = {}
        self.intake = Intake(self.inventory, Rules(), feeds, lambda: None)
        for kind in ("pods", "nodes"):
            feeds[kind] = Feed(
                kind,
                "",
                "v1",
                on_listed=lambda uids, kind=kind: self.intake.listed(kind, uids),
                clock=asyncio.get_running_loop().time,
            )
        self.feeds = feeds
        self.transport.feeds = {feed.path: feed for feed in feeds.values()}

    async def until(self, condition):
        for _ in range(1000):
            if condition():
                return
            assert not self.watching.done(), self.watching.exception()
            await asyncio.sleep(0.005)
        raise AssertionError(f"never: {self.api.requests[-10:]}")

    async def synced(self):
        await self.until(lambda: all(feed.synced for feed in self.feeds.values()))
        await self.until(lambda: set(self.api.watches) == {"pods", "nodes"})

    def names(self):
        return {pod.name for pod in self.inventory.pods.values()}


def play(scenario, *, token_file=None, **scripts):
    """Run kopf and a scenario beside it; whatever happens, kopf must still be there at its end."""

    async def run():
        api = ScriptedApi()
        api.objects["pods"] = [builders.pod(name) for name in ("a", "b")]
        api.objects["nodes"] = [builders.node()]
        for kind, answers in scripts.items():
            api.scripts[kind] = answers
        async with api.serving():
            scene = Scene(api, token_file)
            stop = asyncio.Event()

            # kopf waits at its end for all tasks that are younger than it, the server's too.
            scene.watching = asyncio.create_task(
                watcher.watch(scene.transport, scene.intake, stop=stop, before_end=api.close)
            )
            try:
                await scenario(scene)
                assert not scene.watching.done()
            finally:
                stop.set()
                await scene.watching

    asyncio.run(run())


def test_a_list_and_its_watch_reach_the_handlers():
    async def scenario(scene):
        await scene.synced()
        assert scene.names() == {"a", "b"}
        scene.api.tell("pods", ("ADDED", builders.pod("c")), ("DELETED", builders.pod("a")))
        await scene.until(lambda: scene.names() == {"b", "c"})

    play(scenario)


def test_pages_are_one_list():
    async def scenario(scene):
        await scene.synced()
        assert scene.names() == {"a", "b", "first"}
        assert any("continue=next" in each for each in scene.api.requests)

    play(scenario, pods=[paged("pods", [builders.pod("first")], "next")])


def test_what_is_deleted_while_no_watch_runs_is_let_go():
    async def scenario(scene):
        await scene.synced()
        scene.api.objects["pods"] = [builders.pod("b")]
        scene.api.tell("pods", GONE)
        await scene.until(lambda: scene.names() == {"b"})

    play(scenario)


def test_a_continue_token_that_has_lapsed_is_a_new_list():
    async def scenario(scene):
        await scene.synced()
        assert scene.names() == {"a", "b"}

    play(scenario, pods=[paged("pods", [builders.pod("first")], "next"), refusal(410)])


def test_a_watch_that_begins_with_410_is_a_new_list():
    async def scenario(scene):
        await scene.synced()
        scene.api.scripts["pods"] = [refusal(410)]
        scene.api.objects["pods"] = [builders.pod("b")]
        scene.api.tell("pods", None)
        await scene.until(lambda: scene.names() == {"b"})
        assert scene.feeds["pods"].synced

    play(scenario)


@pytest.mark.parametrize("code", [500, 504, 403])
def test_an_error_in_the_stream_is_a_new_list(code):
    async def scenario(scene):
        await scene.synced()
        scene.api.objects["pods"] = [builders.pod("b")]
        scene.api.tell("pods", ("ERROR", {"kind": "Status", "code": code}))
        await scene.until(lambda: scene.names() == {"b"})

    play(scenario)


def test_a_watch_that_is_cut_within_a_line_goes_on():
    async def scenario(scene):
        await scene.synced()
        scene.api.tell("pods", ("ADDED", builders.pod("c")), b'{"type":"ADDED","obj')
        await scene.until(lambda: "c" in scene.names())
        before = scene.api.watches["pods"]
        scene.api.tell("pods", None)
        await scene.until(lambda: scene.api.watches["pods"] is not before)
        scene.api.tell("pods", ("ADDED", builders.pod("d")))
        await scene.until(lambda: "d" in scene.names())

    play(scenario)


def test_a_line_that_comes_in_pieces_is_whole():
    async def scenario(scene):
        await scene.synced()
        scene.api.tell("pods", b'{"type":"DELETED",')
        await asyncio.sleep(0.05)
        scene.api.tell("pods", b'"object":{"metadata":{"uid":"uid-default-a"}}}\n')
        await scene.until(lambda: scene.names() == {"b"})

    play(scenario)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_list_that_is_refused_for_a_while_comes_later(status):
    async def scenario(scene):
        await scene.synced()
        assert scene.names() == {"a", "b"}

    play(scenario, pods=[refusal(status)] * 3)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_watch_that_is_refused_for_a_while_comes_later(status):
    async def scenario(scene):
        await scene.synced()
        scene.api.scripts["pods"] = [refusal(status)] * 3
        before = scene.api.watches["pods"]
        scene.api.tell("pods", None)
        await scene.until(lambda: scene.api.watches["pods"] is not before)
        scene.api.tell("pods", ("ADDED", builders.pod("c")))
        await scene.until(lambda: "c" in scene.names())

    play(scenario)


def test_a_refusal_reaches_the_feed_and_ends_with_the_first_answer():
    async def scenario(scene):
        feed = scene.feeds["nodes"]
        await scene.until(
            lambda: feed.problem() == "nodes: the right to list and watch them is missing"
        )
        await scene.synced()
        assert feed.problem() == ""
        assert feed.unread() is None

    async def slow(request):
        await asyncio.sleep(0.1)
        return await refusal(403)(request)

    play(scenario, nodes=[refusal(403), slow])


def test_an_outage_is_told_once_and_so_is_its_end(caplog):
    caplog.set_level("INFO", "gpu_triage")

    async def scenario(scene):
        await scene.synced()

    play(scenario, pods=[refusal(500)] * 3)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(" server=")[0] for line in lines] == [
        "API server does not answer, is asked again",
        "API server answers again",
    ]


def test_every_request_bears_the_token_of_the_moment(tmp_path):
    token = tmp_path / "token"
    token.write_text("first")

    async def scenario(scene):
        await scene.synced()
        token.write_text("second")
        scene.api.tell("pods", GONE)
        await scene.until(lambda: scene.api.requests[-1].endswith("Bearer second"))
        assert scene.api.requests[0].endswith("Bearer first")

    play(scenario, token_file=token)


def test_bookmarks_and_lines_are_signs_of_life():
    async def scenario(scene):
        await scene.synced()
        feed = scene.feeds["pods"]
        feed._heard = -1000.0
        assert feed.stale()
        bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
        scene.api.tell("pods", ("BOOKMARK", bookmark))
        await scene.until(lambda: not feed.stale())

    play(scenario)


WRITE = Write(Kind.EVENT, "POST", "/apis/x", "application/json", b"{}", says="x")


def answers_to_a_write(status, body, headers=None):
    """What send returns for an answer of the API server."""

    async def run():
        async def answer(request):
            assert request.headers["Authorization"] == "Bearer t"
            assert request.headers["Content-Type"] == "application/json"
            return web.Response(status=status, body=body, headers=headers)

        app = web.Application()
        app.router.add_post("/apis/x", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        transport = Transport(Access(server=url, source="x", inside=True, token="t"), "test")
        try:
            return await transport.send(WRITE)
        finally:
            await transport.close()
            await runner.cleanup()

    return asyncio.run(run())


def test_an_answer_is_what_the_writer_needs_of_it():
    assert answers_to_a_write(201, b"{}").status == 201
    body = (
        b'{"kind":"Status","reason":"Invalid","message":"' + b"x" * 999 + b'","details":{"causes":'
        b'[{"reason":"FieldValueInvalid","message":"m","field":"metadata.uid"}]}}'
    )
    answer = answers_to_a_write(422, body)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.causes == ("metadata.uid", "FieldValueInvalid")
    assert len(answer.message) == 200
    assert answers_to_a_write(429, b"busy", {"Retry-After": "7"}).retry_after == 7
    assert answers_to_a_write(502, b"<html>").causes == ()


def test_a_server_that_is_not_there_is_unreachable():
    async def run():
        access = Access(server="http://127.0.0.1:1", source="x", inside=True)
        transport = Transport(access, "test")
        try:
            await transport.send(WRITE)
        finally:
            await transport.close()

    with pytest.raises(UnreachableError, match="Connection refused"):
        asyncio.run(run())
