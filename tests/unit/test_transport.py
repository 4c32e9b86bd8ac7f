"""What the session under kopf must hold for: kopf itself runs here, against a scripted server."""

import asyncio

import pytest
from aiohttp import web

from gpu_triage.controller.access import Access
from gpu_triage.controller.transport import Transport
from gpu_triage.publish.write import Kind, UnreachableError, Write
from tests import builders
from tests.unit.kopf_scene import no_pauses, play  # noqa: F401
from tests.unit.scripted_api import paged, refusal

GONE = ("ERROR", {"kind": "Status", "code": 410})


pytestmark = pytest.mark.usefixtures("no_pauses")


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


def test_pods_that_name_no_gpu_never_reach_kopf_and_those_that_did_always_do():
    async def scenario(scene):
        await scene.synced()
        scene.api.tell(
            "pods",
            ("ADDED", builders.pod("web", 0)),
            ("MODIFIED", builders.pod("a", 0)),
            ("ADDED", builders.pod("c")),
        )
        await scene.until(lambda: "c" in scene.names())
        assert scene.seen == ["page-1", "a", "c"]
        assert scene.names() == {"b", "c"}

    play(scenario, pods=[paged("pods", [builders.pod("more", 0)], "next")])


def test_without_the_filter_every_pod_goes_through_kopf_and_the_picture_is_the_same():
    async def scenario(scene):
        await scene.synced()
        assert scene.seen == ["more", "a", "b"]
        assert scene.names() == {"a", "b"}

    play(scenario, lean=False, pods=[paged("pods", [builders.pod("more", 0)], "next")])


def test_a_list_that_is_no_json_is_asked_for_again():
    async def half(_):
        return web.Response(
            body=b'{"kind":"PodList","items":[{"meta', content_type="application/json"
        )

    async def scenario(scene):
        await scene.synced()
        assert scene.names() == {"a", "b"}

    play(scenario, pods=[half])


def test_a_line_that_is_no_event_is_a_new_list():
    async def scenario(scene):
        await scene.synced()
        scene.api.objects["pods"] = [builders.pod("b")]
        scene.api.tell("pods", b"<html>bad gateway</html>\n")
        await scene.until(lambda: scene.names() == {"b"})

    play(scenario)


@pytest.mark.parametrize("headers", [True, False])
def test_a_watch_that_nobody_answers_any_more_is_opened_anew(headers, caplog):
    async def mute(_):
        await asyncio.sleep(5)

    async def scenario(scene):
        await scene.synced()
        before = scene.api.watches["pods"]
        scene.feeds["pods"].patience = 0.2
        if not headers:
            scene.api.scripts["pods"] = [mute]
        # The wait for this line still has the old patience.
        scene.api.tell("pods", ("ADDED", builders.pod("c")))
        await scene.until(lambda: scene.api.watches["pods"] is not before)
        scene.feeds["pods"].patience = 100
        scene.api.tell("pods", ("ADDED", builders.pod("d")))
        await scene.until(lambda: "d" in scene.names())

    caplog.set_level("INFO", "gpu_triage")
    play(scenario)
    assert "Watch is silent and is opened anew kind=pods" in caplog.text


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


@pytest.mark.parametrize("status", [400, 401, 403, 415, 429, 500])
def test_discovery_that_is_refused_for_a_while_comes_later(status):
    async def scenario(scene):
        await scene.synced()

    play(scenario, discovery=[refusal(status)] * 3)


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


def test_a_question_that_takes_too_long_is_given_up():
    assert ask(0.05, b"{}", pause=30) == "no answer in time"
    assert ask(30, b'{"a": 1}') == (200, {"a": 1})
    assert ask(30, b"<html>") == (200, None)


def ask(seconds, body, pause=0.0):
    """What comes of a PUT that is answered after a pause."""

    async def answer(request):
        assert (request.method, await request.json()) == ("PUT", {"kind": "Lease"})
        assert request.headers["Authorization"] == "Bearer t"
        await asyncio.sleep(pause)
        return web.Response(body=body)

    async def run():
        app = web.Application()
        app.router.add_put("/lease", answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        transport = Transport(Access(server=url, source="x", inside=True, token="t"), "test")
        try:
            return await transport.ask("PUT", "/lease", b'{"kind": "Lease"}', seconds)
        except UnreachableError as error:
            return str(error)
        finally:
            await transport.close()
            await runner.cleanup()

    return asyncio.run(run())
