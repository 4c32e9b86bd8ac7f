"""The writer against a fake of the API server: what it sends, in which order, and after what."""

import asyncio
import json
import math

import msgspec
import pytest

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.publish import annotations
from gpu_triage.publish.backlog import REFUSED_SECONDS
from gpu_triage.publish.write import Answer, Kind, Result, UnreachableError
from tests.unit.writer_scene import OK, Scene, pod, word


def test_the_annotation_comes_first_and_its_event_after_the_200():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))
    assert scene.counters.queued == 1
    assert scene.drain() == (["annotation train", "event train"], 1800)
    assert scene.counters.queued == 0
    assert scene.counted() == {"annotation/ok": 1, "event/ok": 1}


def test_what_stands_already_gets_its_event_only():
    standing = word(pod())
    there = msgspec.structs.replace(pod(), published=annotations.values(standing))
    scene = Scene(Answer(409, reason="AlreadyExists"))
    scene.writer.want(there, standing)
    # It may have been made already, after others: not before these are five minutes old for sure.
    assert scene.drain() == ([], 300)
    scene.clock += 300
    assert scene.drain() == (["event train"], 1500)
    assert scene.counted() == {"event/exists": 1}


def test_nothing_is_sent_again_while_the_own_write_has_not_come_back():
    scene = Scene()
    standing = word(pod())
    scene.writer.want(pod(), standing)
    scene.drain()
    scene.writer.want(pod(), standing)
    assert scene.drain()[0] == []
    echoed = msgspec.structs.replace(pod(), published=annotations.values(standing))
    scene.writer.want(echoed, standing)
    assert scene.drain()[0] == []


def test_what_somebody_else_changes_is_put_right():
    scene = Scene()
    standing = word(pod())
    scene.writer.want(pod(), standing)
    scene.drain()
    values = annotations.values(standing)
    scene.writer.want(msgspec.structs.replace(pod(), published=values), standing)
    broken = msgspec.structs.replace(pod(), published={**values, "cause": "ok"})
    scene.writer.want(broken, standing)
    assert scene.drain() == ([], 60)
    scene.clock += 60
    assert scene.drain()[0] == ["annotation train"]


def test_changes_that_come_faster_than_writes_are_one_write():
    scene = Scene()
    for cause, detail in (
        (Cause.TAINT, Detail.UNTOLERATED),
        (Cause.NO_GPU_NODE, Detail.NO_NODES),
        (Cause.EXHAUSTED, Detail.BUSY),
    ):
        scene.writer.want(pod(), word(pod(), cause, detail))
    assert scene.drain()[0] == ["annotation train", "event train"]
    assert json.loads(scene.last.body)["reason"] == "GPUExhausted"


def test_a_word_that_changes_while_its_write_is_on_its_way_is_written_after_it():
    scene = Scene()
    other = word(pod(), Cause.TAINT, Detail.UNTOLERATED, since=1001)

    def change():
        scene.meanwhile = None
        scene.writer.want(pod(), other)

    scene.meanwhile = change
    scene.writer.want(pod(), word(pod()))
    assert scene.drain()[0] == ["annotation train", "annotation train", "event train"]
    assert json.loads(scene.last.body)["reason"] == "GPUTaint"


def test_removals_come_before_all_else():
    scene = Scene()
    for name in ("one", "two"):
        scene.writer.want(pod(name), word(pod(name)))
    placed = pod("placed", node="gpu-a")
    scene.writer.want(
        msgspec.structs.replace(placed, published=annotations.values(word(placed))), None
    )
    assert scene.counters.queued == 3
    assert scene.drain()[0][0] == "removal placed"


def test_a_pod_without_ours_needs_no_removal():
    scene = Scene()
    scene.writer.want(pod(node="gpu-a"), None)
    assert scene.drain() == ([], math.inf)


def test_a_word_that_is_gone_before_it_was_written_is_not_written():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))
    scene.writer.want(pod(node="gpu-a"), None)
    assert scene.drain()[0] == []


def test_a_word_that_has_changed_is_not_written_while_the_new_one_has_no_message():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))
    scene.writer.want(pod(), word(pod(), Cause.TAINT, Detail.CORDONED, message=""))
    assert scene.drain() == ([], math.inf)
    assert scene.counters.queued == 0
    scene.writer.want(pod(), word(pod(), Cause.TAINT, Detail.CORDONED, message="Tainted."))
    sent, _ = scene.drain()
    assert sent[0] == "annotation train"
    assert all("exhausted" not in each for each in sent)


def test_the_event_of_a_word_that_changed_while_its_annotation_was_on_its_way_is_not_made():
    scene = Scene()

    def change():
        scene.meanwhile = None
        scene.writer.want(pod(), word(pod(), Cause.TAINT, Detail.CORDONED, message=""))

    scene.meanwhile = change
    scene.writer.want(pod(), word(pod()))
    assert scene.drain() == (["annotation train"], math.inf)


def test_a_pod_that_is_deleted_while_its_write_waits_is_forgotten():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))
    new = pod(uid="new")
    scene.writer.want(new, None)
    scene.writer.leave(pod().uid)
    assert scene.counters.queued == 0
    assert scene.drain() == ([], math.inf)


@pytest.mark.parametrize(
    "answer",
    [Answer(404), Answer(422, causes=("metadata.uid", "FieldValueInvalid"))],
    ids=["no such pod", "another pod of its name"],
)
def test_a_pod_that_is_gone_is_not_asked_for_again(answer):
    scene = Scene(answer)
    standing = word(pod())
    scene.writer.want(pod(), standing)
    assert scene.drain() == (["annotation train"], math.inf)
    scene.clock += 3600
    scene.writer.want(pod(), standing)
    assert scene.drain()[0] == []
    assert scene.counted() == {"annotation/gone": 1}


def test_a_conflict_is_left_to_the_newer_pod():
    scene = Scene(Answer(409, reason="Conflict"))
    scene.writer.want(pod(), word(pod()))
    assert scene.drain() == (["annotation train"], 1)
    scene.clock += 1
    assert scene.drain()[0] == ["annotation train", "event train"]
    assert scene.counted() == {"annotation/conflict": 1, "annotation/ok": 1, "event/ok": 1}


def test_a_refusal_is_counted_said_once_and_not_repeated(caplog):
    scene = Scene(Answer(403, message="no"), Answer(403, message="no"))
    for name in ("one", "two"):
        scene.writer.want(pod(name), word(pod(name)))
    assert scene.drain() == (["annotation one", "annotation two"], REFUSED_SECONDS)
    scene.clock += 60
    scene.writer.want(pod("one"), word(pod("one"), message="Needs 2; other numbers."))
    assert scene.drain()[0] == []
    assert scene.counted() == {"annotation/refused": 2}
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "Write was not taken kind=annotation pod=default/one status=403 answer='no' "
        "fix='let the operator patch pods/status: kubectl apply -f deploy/rbac'"
    )
    scene.clock += REFUSED_SECONDS
    assert scene.drain()[0] == ["annotation one", "annotation two", "event one", "event two"]


def test_another_word_is_tried_although_the_last_was_refused():
    scene = Scene(Answer(403))
    scene.writer.want(pod(), word(pod()))
    scene.drain()
    scene.writer.want(pod(), word(pod(), Cause.TAINT, Detail.UNTOLERATED))
    assert scene.drain()[0] == ["annotation train", "event train"]


@pytest.mark.parametrize("written", [["annotation"], ["annotation", "event"]])
def test_a_pod_that_is_placed_before_its_write_begins(written):
    """The task of a write begins in the next turn of the event loop: this one may end the word."""
    scene, one = Scene(), pod()
    make = scene.writer._make

    def placed_before(*picked):
        if len(scene.sent) == len(written) - 1:
            scene.writer.want(one, None)
        return make(*picked)

    scene.writer._make = placed_before
    scene.writer.want(one, word(one))
    sent, _ = scene.drain()
    assert [each.split()[0] for each in sent] == [*written, "removal"]


def test_an_event_in_a_namespace_that_ends_is_no_complaint(caplog):
    scene = Scene(OK, Answer(403, causes=("NamespaceTerminating",)))
    scene.writer.want(pod(), word(pod()))
    assert scene.drain()[0] == ["annotation train", "event train"]
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_a_write_that_the_api_server_does_not_take_is_not_repeated(caplog):
    scene = Scene(Answer(400, message="bad"))
    scene.writer.want(pod(), word(pod()))
    assert scene.drain()[0] == ["annotation train"]
    assert scene.counted() == {"annotation/invalid": 1}
    assert "fix='report this" in caplog.text


def test_a_server_error_is_repeated_later_and_later_and_holds_up_nobody_else():
    scene = Scene(Answer(500), OK, OK, Answer(503), Answer(500))
    scene.writer.want(pod("one"), word(pod("one")))
    scene.writer.want(pod("two"), word(pod("two")))
    assert scene.drain() == (["annotation one", "annotation two", "event two"], 1)
    for pause in (2, 4):
        scene.clock += pause / 2
        assert scene.drain() == (["annotation one"], pause)
    scene.clock += 4
    assert scene.drain()[0] == ["annotation one", "event one"]
    assert scene.counted()["annotation/retry"] == 3


def test_too_many_requests_stops_everything_for_as_long_as_is_asked():
    scene = Scene(Answer(429, retry_after=7))
    for name in ("one", "two"):
        scene.writer.want(pod(name), word(pod(name)))
    assert scene.drain() == (["annotation one"], 7)
    scene.clock += 7
    assert len(scene.drain()[0]) == 4


def test_a_server_that_does_not_answer_is_left_alone_longer_and_longer():
    scene = Scene(*[UnreachableError("refused")] * 6)
    scene.writer.want(pod(), word(pod()))
    pauses = []
    for _ in range(6):
        sent, pause = scene.drain()
        assert sent == ["annotation train"]
        pauses.append(pause)
        scene.clock += pause
    assert pauses == [1, 2, 4, 8, 15, 15]
    assert scene.drain()[0] == ["annotation train", "event train"]


def test_a_credential_that_is_not_taken_is_like_a_server_that_does_not_answer():
    scene = Scene(Answer(401))
    scene.writer.want(pod(), word(pod()))
    assert scene.drain() == (["annotation train"], 1)
    assert scene.counted() == {"annotation/retry": 1}


def test_the_series_goes_on_and_an_event_that_has_expired_is_made_again():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))
    scene.drain()
    scene.clock += 1800
    assert scene.drain() == (["series train"], 1800)
    scene.clock += 1800
    scene.answers = [Answer(404)]
    assert scene.drain() == (["series train", "event train"], 1800)
    assert json.loads(scene.last.body)["series"]["count"] == 3
    assert scene.counted() == {
        "annotation/ok": 1,
        "event/ok": 2,
        "series/ok": 1,
        "series/gone": 1,
    }


def test_a_word_without_an_event_gets_none():
    scene = Scene()
    scene.writer.want(pod(), word(pod(), Cause.NOT_GPU, Detail.NOT_TRIED))
    assert scene.drain() == (["annotation train"], math.inf)


def test_nothing_is_written_while_it_is_held():
    scene = Scene()
    scene.writer.hold(True)
    scene.writer.want(pod(), word(pod()))
    assert scene.drain() == ([], math.inf)
    assert scene.counters.queued == 1
    scene.writer.hold(False)
    assert len(scene.drain()[0]) == 2


def test_it_runs_by_itself_and_wakes_up_for_work():
    async def scenario():
        scene = Scene()
        task = asyncio.create_task(scene.writer.run())
        await asyncio.sleep(0)
        scene.writer.want(pod(), word(pod()))
        while len(scene.sent) < 2:
            await asyncio.sleep(0)
        task.cancel()
        return scene.sent

    assert asyncio.run(scenario()) == ["annotation train", "event train"]


def test_every_kind_and_result_is_a_label():
    assert {*Kind} == {"annotation", "removal", "event", "series"}
    assert len(Result) == 7


def test_each_write_is_asked_for_anew():
    scene = Scene()
    scene.writer.want(pod(), word(pod()))

    def lose():
        scene.leads = False

    scene.meanwhile = lose
    assert scene.drain() == (["annotation train"], math.inf)
    scene.leads, scene.meanwhile = True, None
    assert scene.drain() == (["event train"], 1800)
