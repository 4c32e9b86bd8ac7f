"""The clean-up against a fake that knows who owns an annotation, as the API server does."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import pytest

from gpu_triage.controller import cleanup
from gpu_triage.controller.cleanup import CONNECTIONS, Cleanup, CleanupError
from gpu_triage.publish.write import Answer, UnreachableError
from tests import builders

DOMAINS = ("gpu-triage.io", "old.example.com")
OURS = {"gpu-triage.io/cause": "taint", "gpu-triage.io/message": "Needs 2."}


class FakeTransport:
    """Pods in pages; annotations have owners, and an apply follows the rules of ownership.

    ``answers`` come first, for writes; ``lists`` for lists: a status, or an error to raise.
    """

    def __init__(self, *pods, page=2):
        self.pods = {each["metadata"]["name"]: each for each in pods}
        self.owners = {}
        self.writes = []
        self.answers = []
        self.lists = []
        self.reads = 0
        self.page = page

    async def read(self, path):
        self.reads += 1
        if self.lists and (first := self.lists.pop(0)) is not None:
            if isinstance(first, Exception):
                raise first
            return first, b"{}"
        start = int(parse_qs(urlsplit(path).query).get("continue", ["0"])[0])
        pods = list(self.pods.values())
        more = str(start + self.page) if start + self.page < len(pods) else ""
        listing = {"metadata": {"continue": more}, "items": pods[start : start + self.page]}
        return 200, json.dumps(listing, separators=(",", ":")).encode()

    async def send(self, write):
        name = write.path.split("/")[6]
        applied = json.loads(write.body)["metadata"].get("annotations", {})
        self.writes.append((name, applied))
        if self.answers:
            return self.answers.pop(0)
        there = self.pods[name]["metadata"].setdefault("annotations", {})
        ours = {"gpu-triage"} if "managedFields" in self.pods[name]["metadata"] else {"kubectl"}
        owners = self.owners.setdefault(name, {key: set(ours) for key in there})
        for key, value in applied.items():
            shared = owners.get(key, set()) if there.get(key) == value else set()
            there[key], owners[key] = value, shared | {"gpu-triage"}
        for key in [key for key in there if key not in applied]:
            if "gpu-triage" in owners.get(key, ()):
                owners[key].discard("gpu-triage")
                if not owners[key]:
                    del there[key]
        if not applied:
            self.pods[name]["metadata"].pop("managedFields", None)
        return Answer(200, annotations=dict(there))


def pod(name, annotations=None, manager="gpu-triage"):
    raw = builders.pod(name, annotations=dict(annotations or {}))
    if manager:
        raw["metadata"]["managedFields"] = [{"manager": manager, "operation": "Apply"}]
    return raw


def run(transport, **pace):
    pace = {"rate": 500, "burst": 1000, **pace}
    return asyncio.run(Cleanup(transport, DOMAINS, **pace).run())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(cleanup, "_pause", lambda attempt: 0)


def annotations(transport, name):
    return transport.pods[name]["metadata"].get("annotations", {})


def test_what_the_operator_wrote_is_removed_and_nothing_else():
    theirs = {"example.com/note": "keep", "gpu-triage.io/ignore": "true"}
    transport = FakeTransport(
        pod("a", OURS), pod("b", theirs, None), pod("c", manager=None), pod("d", OURS)
    )
    transport.pods["a"]["metadata"]["annotations"].update(theirs)
    transport.owners["a"] = {key: {"gpu-triage"} for key in OURS}
    assert run(transport) == 2
    assert sorted(transport.writes) == [("a", {}), ("d", {})]
    assert annotations(transport, "a") == annotations(transport, "b") == theirs
    assert annotations(transport, "d") == {}


def test_what_was_copied_with_a_manifest_is_taken_over_first():
    transport = FakeTransport(pod("a", OURS, None))
    transport.owners["a"] = {
        "gpu-triage.io/cause": {"kubectl"},
        "gpu-triage.io/message": {"kubectl", "gpu-triage"},
    }
    assert run(transport) == 1
    assert transport.writes == [("a", {}), ("a", dict.fromkeys(OURS, "")), ("a", {})]
    assert annotations(transport, "a") == {}


def test_keys_of_another_domain_are_found_by_its_name_or_by_who_applied_them():
    transport = FakeTransport(
        pod("a", {"old.example.com/cause": "taint"}, None),
        pod("b", {"older.example.com/cause": "taint"}, "gpu-triage"),
        pod("c", {"older.example.com/cause": "taint"}, "gpu-triage-2"),
    )
    assert run(transport) == 2
    assert sorted(name for name, _ in transport.writes) == ["a", "a", "a", "b"]


def test_a_list_that_grows_too_old_begins_anew():
    transport = FakeTransport(*(pod(name, OURS) for name in "abcde"))
    transport.lists = [None, 410]
    assert run(transport) == 5
    assert [name for name, _ in transport.writes] == ["b", "a", "d", "c", "e"]


def test_a_pod_that_is_gone_is_clean():
    transport = FakeTransport(pod("a", OURS), pod("b", OURS))
    transport.answers = [Answer(404), Answer(422, causes=("metadata.uid",))]
    assert run(transport) == 2


def test_an_api_server_that_fails_for_a_while_is_asked_again():
    transport = FakeTransport(pod("a", OURS))
    transport.lists = [500, UnreachableError("refused"), 429]
    transport.answers = [Answer(429), Answer(500)]
    assert run(transport) == 1
    assert len(transport.writes) == 3


def test_a_refused_list_is_said_with_what_to_do():
    transport = FakeTransport()
    transport.lists = [403]
    with pytest.raises(CleanupError, match=r"may not list pods \(status 403\); give this account"):
        run(transport)


def test_an_api_server_that_does_not_come_back_ends_it():
    transport = FakeTransport()
    transport.lists = [UnreachableError("refused")] * 99
    with pytest.raises(CleanupError, match="cannot list pods: refused; run it again"):
        run(transport)
    assert transport.reads == cleanup.TRIES


def test_when_every_write_is_refused_it_does_not_try_them_all(caplog):
    transport = FakeTransport(*(pod(f"p{n}", OURS) for n in range(100)), page=100)
    transport.answers = [Answer(403, message="denied")] * 100
    with pytest.raises(CleanupError, match="may not patch pods/status; give this account"):
        run(transport)
    assert len(transport.writes) < 2 * CONNECTIONS
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) == 1


def test_a_refusal_of_one_pod_leaves_the_others_clean(caplog):
    transport = FakeTransport(*(pod(name, OURS) for name in "abc"), page=9)
    transport.answers = [Answer(403, message="denied")]
    with pytest.raises(CleanupError, match=r"annotations are left on 1 pods \(refused=1\)"):
        run(transport)
    assert [annotations(transport, name) == {} for name in "abc"] == [True, True, False]
    assert "path=/api/v1/namespaces/default/pods/c/status status=403 answer='denied'" in caplog.text


def test_it_keeps_to_the_rate(monkeypatch):
    slept = []
    clock = [0.0]
    monkeypatch.setattr(cleanup.time, "monotonic", lambda: clock[0])

    async def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(cleanup.asyncio, "sleep", sleep)
    transport = FakeTransport(*(pod(f"p{n}", OURS) for n in range(50)), page=50)
    assert run(transport, rate=10, burst=20) == 50
    assert clock[0] == pytest.approx(3.0, abs=0.1)
