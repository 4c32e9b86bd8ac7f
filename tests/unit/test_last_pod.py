"""How the clean-up waits for the operator's end."""

import argparse
import asyncio
import json
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from gpu_triage.controller import last_pod
from gpu_triage.publish.write import UnreachableError

LABELS = "app.kubernetes.io/name=gpu-triage,app.kubernetes.io/instance=one"
SOME, NONE = (200, [{"metadata": {"name": "gpu-triage-1"}}]), (200, [])


class Answers:
    """Answers in turn, the last one for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.paths = []

    async def read(self, path):
        self.paths.append(path)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, items = answer
        return status, json.dumps({"items": items}).encode()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(last_pod, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(last_pod, "time", SimpleNamespace(monotonic=lambda: next(clock)))


def wait(*answers):
    transport = Answers(*answers)
    gone = asyncio.run(last_pod.wait_until_gone(transport, "ops", LABELS))
    return gone, transport.paths


def test_it_waits_while_a_pod_is_there_or_nobody_answers():
    gone, paths = wait(SOME, UnreachableError("refused"), (503, []), SOME, NONE)
    assert (gone, len(paths)) == (True, 5)
    address = urlsplit(paths[0])
    assert address.path == "/api/v1/namespaces/ops/pods"
    asked = parse_qs(address.query)
    assert asked["labelSelector"] == [LABELS]
    assert asked["fieldSelector"] == ["status.phase!=Succeeded,status.phase!=Failed"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (SOME, "gpu-triage-1 is there"),
        ((403, []), "status 403"),
        (UnreachableError("refused"), "refused"),
    ],
)
def test_it_goes_on_after_a_minute_and_says_so(answer, why, caplog):
    gone, paths = wait(answer)
    assert not gone
    assert len(paths) == 59
    (record,) = caplog.records
    assert record.getMessage() == (
        f"Waited in vain for the operator's end: {why}; if it runs, end it and clean up again"
    )


def test_what_it_waits_for_is_a_namespace_and_labels():
    assert last_pod.place(f"ops/{LABELS}") == ("ops", LABELS)
    for wrong in ("ops", "/a=b", "ops/name", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="give NAMESPACE/LABEL=VALUE"):
            last_pod.place(wrong)
