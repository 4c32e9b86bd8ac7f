"""What the operator takes for granted of kopf 1.45 and aiohttp 3.14, one habit a test.

Documented or not, the transport rests on each of these. After an upgrade that changes one, the
sentence of its test says what to look at; the tests of the transport then show what it broke.
"""

import asyncio
import dataclasses
import gc
import importlib.metadata
from urllib.parse import parse_qs, urlsplit

import aiohttp
import kopf
import pytest
from aiohttp import web

from gpu_triage.controller import stream, watcher
from tests import builders
from tests.unit.kopf_scene import no_pauses, play  # noqa: F401
from tests.unit.scripted_api import paged

pytestmark = pytest.mark.usefixtures("no_pauses")

GONE = ("ERROR", {"kind": "Status", "code": 410})


def requests(scene, kind="pods"):
    """The queries of all requests for a kind, in their order."""
    found = [urlsplit(each.split(" ")[0]) for each in scene.api.requests]
    return [parse_qs(each.query) for each in found if each.path == f"/api/v1/{kind}"]


def test_the_versions_are_those_that_the_contract_was_written_for():
    for name, minor in (("kopf", "1.45"), ("aiohttp", "3.14")):
        version = importlib.metadata.version(name)
        assert version.startswith(f"{minor}."), (
            f"{name} is {version} and not {minor}: run this file, read what it says, and move the "
            "pins in pyproject.toml and this version together"
        )


def test_kopf_lists_in_pages_and_then_watches_from_there():
    async def scenario(scene):
        await scene.synced()
        first, second, watch = requests(scene)[:3]
        assert first == {"limit": ["500"]}, (
            "kopf's first request of a kind is no longer a plain list with `limit`: the transport "
            "takes a list without `continue` for the first page of a new list"
        )
        assert second.get("continue") == ["next"], (
            "kopf no longer asks for the second page with `continue`: the transport would take it "
            "for a new list and end all objects of the first page"
        )
        assert watch.get("watch") == ["true"], (
            "kopf no longer watches with `watch=true`: the transport would take a watch for a list"
        )
        assert watch.get("allowWatchBookmarks") == ["true"], (
            "kopf no longer asks for bookmarks: quiet kinds would count as stale after 150 s"
        )

    play(scenario, pods=[paged("pods", [builders.pod("first")], "next")])


def test_kopf_reads_lists_by_json_of_the_response_class(monkeypatch):
    read = []
    original = stream.Response.json

    async def json(self, **how):
        read.append(self.url.path)
        return await original(self, **how)

    monkeypatch.setattr(stream.Response, "json", json)

    async def scenario(scene):
        await scene.synced()
        assert "/api/v1/pods" in read, (
            "kopf no longer reads a list by `response.json()` of the session's response class: "
            "the sieve is not asked, and no list ever counts as complete"
        )

    play(scenario)


def test_kopf_reads_watches_by_iter_chunked_of_the_content(monkeypatch):
    read = []
    original = stream.Stream.iter_chunked

    def iter_chunked(self, size):
        read.append(size)
        return original(self, size)

    monkeypatch.setattr(stream.Stream, "iter_chunked", iter_chunked)

    async def scenario(scene):
        await scene.synced()
        await scene.until(lambda: read)

    try:
        play(scenario)
    except AssertionError as error:
        raise AssertionError(
            "kopf no longer reads a watch by `response.content.iter_chunked()`: nothing is "
            "filtered, and an error in the stream ends the process"
        ) from error


def test_kopf_hands_an_end_over_that_names_nothing_but_the_uid():
    async def scenario(scene):
        await scene.synced()
        scene.api.tell(
            "pods", b'{"type":"DELETED","object":{"metadata":{"uid":"uid-default-a"}}}\n'
        )
        await scene.until(lambda: scene.names() == {"b"})

    try:
        play(scenario)
    except AssertionError as error:
        raise AssertionError(
            "kopf no longer hands over a DELETED event that holds only a uid: pods that were "
            "deleted unseen would hold their GPUs for ever"
        ) from error


def test_an_end_without_a_version_leaves_the_version_to_resume_from():
    async def scenario(scene):
        await scene.synced()
        scene.api.objects["pods"] = [builders.pod("b")]
        scene.api.tell("pods", GONE)
        await scene.until(lambda: scene.names() == {"b"})
        scene.api.tell("pods", None)
        await scene.until(lambda: len(requests(scene)) >= 5)
        assert requests(scene)[4].get("resourceVersion") == ["1"], (
            "kopf no longer resumes a watch from the list's version after an event that has none: "
            "what happened meanwhile would be missed or read anew"
        )

    play(scenario)


def test_kopf_forgets_an_object_that_ends():
    def remembered():
        return sum(type(each).__name__ == "ResourceMemory" for each in gc.get_objects())

    async def scenario(scene):
        await scene.synced()
        before = remembered()
        assert before, (
            "kopf's per-object memory has another name: find out how it is freed now, or the "
            "operator may grow with every pod that ever was"
        )
        scene.api.objects["pods"] = []
        scene.api.tell("pods", GONE)
        await scene.until(lambda: scene.names() == set())
        await asyncio.sleep(0.2)
        assert remembered() == before - 2, (
            "kopf no longer forgets an object at its DELETED event: the operator grows with every "
            "pod that ever was"
        )

    gc.collect()
    play(scenario, lean=False)  # of the objects of a page kopf has known nothing


def test_kopf_lists_anew_after_410_in_the_stream_and_after_a_payload_error_in_a_list():
    async def half(_):
        return web.Response(body=b"{", content_type="application/json")

    async def scenario(scene):
        await scene.synced()
        scene.api.scripts["pods"] = [half]
        scene.api.tell("pods", GONE)
        await scene.until(lambda: len(requests(scene)) >= 5)
        kinds = ["watch" if "watch" in each else "list" for each in requests(scene)[:5]]
        assert kinds == ["list", "watch", "list", "list", "watch"], (
            "kopf no longer answers 410 in a stream, or a ClientPayloadError in a list, with a new "
            "list: both are how the transport makes it list anew"
        )

    play(scenario)


def test_kopf_asks_again_after_a_connection_error_for_as_long_as_the_backoffs_go():
    async def scenario(scene):
        await scene.synced()

    async def cut(request):
        request.transport.abort()

    try:
        play(scenario, pods=[cut] * 20)
    except (AssertionError, aiohttp.ClientError) as error:
        raise AssertionError(
            "kopf no longer repeats a request after a connection error with "
            "`settings.networking.error_backoffs`: an outage would end the process"
        ) from error


def test_kopf_handles_every_event_of_an_object_in_its_order():
    async def scenario(scene):
        await scene.synced()
        scene.seen.clear()
        for _ in range(50):
            scene.api.tell("pods", ("MODIFIED", builders.pod("a")))
        scene.api.tell("pods", ("DELETED", builders.pod("a")), ("ADDED", builders.pod("c")))
        await scene.until(lambda: len(scene.seen) == 52)
        assert scene.names() == {"b", "c"}, (
            "kopf no longer hands over each event of an object in its order: a pod may count after "
            "its end"
        )

    # As it is: lean, the events that change nothing would never reach kopf.
    play(scenario, lean=False)


def test_kopf_hands_a_page_over_as_the_one_object_that_it_was_made():
    async def scenario(scene):
        await scene.synced()
        assert scene.seen == ["page-0"], (
            "kopf no longer takes a list's item for an object whose uid it has: the slim objects "
            "of a page would not arrive together"
        )
        assert scene.names() == {"a", "b"}, (
            "kopf no longer hands an item of a list over with all that stands in it: nothing that "
            "was listed would ever be known"
        )

    play(scenario)


def test_kopf_makes_no_request_of_its_own_but_discovery():
    async def scenario(scene):
        await scene.synced()
        scene.api.tell("pods", ("MODIFIED", builders.pod("a")))
        await asyncio.sleep(0.2)
        paths = {urlsplit(each.split(" ")[0]).path for each in scene.api.requests}
        assert paths <= {"/api", "/apis", "/api/v1", "/api/v1/pods", "/api/v1/nodes"}, (
            f"kopf makes requests of its own now ({paths}): they need rights that deploy/rbac does "
            "not give"
        )

    play(scenario)


def test_kopf_finds_nobody_at_its_end_to_wait_for(monkeypatch):
    """It leaves one of its own behind where a watch ends while an event of it is taken in."""
    left, waited, wait = [], [], asyncio.wait

    async def look(tasks, **how):
        if how.get("timeout") == 5:
            waited.extend(task.get_name() for task in tasks)
        return await wait(tasks, **how)

    monkeypatch.setattr(asyncio, "wait", look)

    async def scenario(scene):
        await scene.synced()
        left.append(asyncio.create_task(asyncio.Event().wait(), name="left behind"))

    play(scenario)
    assert waited == []


def test_the_settings_that_keep_kopf_lean_are_still_there():
    settings = watcher.settings()
    for where, name in (
        (settings.watching, "chunk_size"),
        (settings.watching, "reconnect_backoff"),
        (settings.queueing, "idle_timeout"),
        (settings.networking, "error_backoffs"),
        (settings.networking, "request_timeout"),
        (settings.networking, "connect_timeout"),
        (settings.scanning, "disabled"),
        (settings.posting, "enabled"),
        (settings.process, "ultimate_exiting_timeout"),
    ):
        fields = {each.name for each in dataclasses.fields(where)}
        assert name in fields, f"kopf no longer has the setting {name}: it would be set in vain"
    assert isinstance(settings.persistence.diffbase_storage, kopf.DiffBaseStorage)


def test_a_middleware_may_sign_the_request_and_replace_status_and_content_of_the_response():
    async def run():
        async def answer(request):
            return web.Response(text=request.headers.get("Authorization", "none"), status=410)

        async def middleware(request, handler):
            request.headers["Authorization"] = "Bearer t"
            response = await handler(request)
            response.status = 200
            response.content = Replaced(response.content)
            return response

        class Replaced:
            def __init__(self, content):
                self._content = content

            def __getattr__(self, name):
                return getattr(self._content, name)

            async def iter_chunked(self, size):
                async for chunk in self._content.iter_chunked(size):
                    yield chunk.upper()

        app = web.Application()
        app.router.add_get("/", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession(
            middlewares=(middleware,), response_class=stream.Response
        ) as session:
            async with session.get(url) as response:
                assert isinstance(response, stream.Response), (
                    "aiohttp no longer makes responses of the session's `response_class`"
                )
                assert response.status == 200, (
                    "aiohttp no longer lets a middleware replace the status of a response: a watch "
                    "that begins with 410 would end kopf's process"
                )
                text = b"".join([chunk async for chunk in response.content.iter_chunked(9)])
                assert text != b"NONE", (
                    "aiohttp no longer sends headers that a middleware sets: no request is signed"
                )
                assert text == b"BEARER T", (
                    "aiohttp no longer lets a middleware replace the content of a response: "
                    "nothing is filtered"
                )
            # Closing reads nothing more of the replaced content than its attributes.
            assert response.closed
        await runner.cleanup()

    asyncio.run(run())
