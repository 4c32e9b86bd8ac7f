"""The process as a whole, against a stand-in for the API server: how it starts and how it ends."""

import asyncio
import logging
import os
import signal

import aiohttp
import pytest

from gpu_triage.controller import watcher
from gpu_triage.controller.access import Access, AccessError
from gpu_triage.controller.life import Operator
from gpu_triage.controller.loop import Loop
from gpu_triage.settings import Settings
from tests.unit.scripted_api import api


@pytest.fixture(autouse=True)
def process(monkeypatch):
    monkeypatch.setenv("POD_ID", "test")
    monkeypatch.setattr(watcher, "EXIT_SECONDS", None)
    logging.getLogger("kopf").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("kopf").setLevel(logging.NOTSET)


def run(url, *, inside=True, beside=None):
    """Run the operator and ``beside(operator, get)``; return the exit code."""

    async def both():
        access = Access(server=url, source="test", inside=inside, token="t")
        operator = Operator(Settings(http_address="127.0.0.1:0"), access)
        running = asyncio.create_task(operator.run())

        async def get(page):
            port = operator._health._runner.addresses[0][1]
            address = f"http://127.0.0.1:{port}/{page}"
            async with aiohttp.ClientSession() as session, session.get(address) as answer:
                return answer.status, await answer.text()

        while not operator._health._runner.addresses and not running.done():
            await asyncio.sleep(0.01)
        if beside is not None:
            await beside(operator, get)
        return await running

    return asyncio.run(both())


async def until(condition):
    for _ in range(1000):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never")


def end():
    os.kill(os.getpid(), signal.SIGTERM)


def test_it_starts_gets_ready_and_ends_when_told():
    async def beside(operator, get):
        async def ready():
            return (await get("readyz")) == (200, "ok\n")

        await until(ready)
        assert (await get("healthz")) == (200, "ok\n")
        status, text = await get("metrics")
        assert status == 200
        assert "gpu_triage_synced 1.0" in text
        end()

    with api() as scripted:
        assert run(scripted.url, beside=beside) == 0


def test_a_part_that_dies_ends_the_process_in_one_line(monkeypatch, caplog):
    async def die(self):
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr(Loop, "run", die)
    with api() as scripted:
        assert run(scripted.url) == 1
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == [
        "Part has died part=loop why='ZeroDivisionError: no reason'"
    ]


def test_a_dead_part_or_a_loop_that_hangs_fails_liveness(monkeypatch):
    async def beside(operator, get):
        operator._loop.beat -= 61
        status, text = await get("healthz")
        assert (status, text) == (503, "loop: has not moved for 61 s\n")
        operator._own["writer"].cancel()
        await asyncio.sleep(0)
        assert "writer: has ended" in (await get("healthz"))[1]
        end()

    async def hang(self):
        await asyncio.Event().wait()

    monkeypatch.setattr(Loop, "run", hang)
    run("http://127.0.0.1:1", beside=beside)


def test_inside_the_cluster_an_api_server_that_is_not_there_is_waited_for(caplog):
    async def beside(operator, get):
        async def said():
            return bool(caplog.records)

        await until(said)
        assert (await get("healthz"))[0] == 200
        assert (await get("readyz")) == (
            503,
            "pods: not read yet\nnodes: not read yet\nnamespaces: not read yet\n",
        )
        end()

    assert run("http://127.0.0.1:1", beside=beside) == 0
    assert [each.getMessage() for each in caplog.records] == [
        "API server cannot be used yet, is asked again server=http://127.0.0.1:1 "
        "why='does not answer (Connection refused)' "
        "fix='check that it runs, and that this is the right address'"
    ]


def test_outside_the_cluster_somebody_stands_by_to_be_told():
    with pytest.raises(AccessError, match=r"http://127.0.0.1:1 does not answer \(Connection ref"):
        run("http://127.0.0.1:1", inside=False)


@pytest.mark.parametrize(
    ("minor", "told"), [("29", True), ("29+", True), ("30", False), ("37+", False), ("x", False)]
)
def test_a_cluster_that_is_too_old_is_told_at_the_start(minor, told, caplog):
    async def beside(operator, get):
        async def ready():
            return (await get("readyz"))[0] == 200

        await until(ready)
        end()

    with api() as scripted:
        scripted.version = {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.3"}
        assert run(scripted.url, beside=beside) == 0
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        f"Cluster is older than what this is made for version=v1.{minor}.3 fix='upgrade it to "
        "1.30 or newer; before that no admission policy can hold the operator to its annotations, "
        "and some words may be wrong'"
    ] * told
