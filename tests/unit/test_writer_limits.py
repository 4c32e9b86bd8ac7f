"""How much the writer writes: what goes first, how often, how fast, and what is left out."""

import asyncio
import json
import math
from itertools import pairwise

import msgspec
import pytest

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.publish import annotations
from gpu_triage.publish.backlog import REFUSED_SECONDS
from gpu_triage.publish.refusals import ALL_SECONDS, ENOUGH
from gpu_triage.publish.write import Answer, UnreachableError
from gpu_triage.publish.writer import CONNECTIONS
from tests.unit.writer_scene import OK, Scene, pod, word

TAINT = (Cause.TAINT, Detail.UNTOLERATED)


def showing(of, standing):
    """The pod as the watch shows it once its word has been written."""
    return msgspec.structs.replace(of, published=annotations.values(standing))


def written(scene, of, **message):
    """Let a pod's word be written and come back by the watch; return the pod then."""
    standing = word(of, **{"message": "Needs 2.", "step": "wait", **message})
    scene.writer.want(of, standing)
    scene.drain()
    shown = showing(of, standing)
    scene.writer.want(shown, standing)
    return shown


def of_job(number, job="train"):
    facts = pod(f"{job}-{number:02}")
    created = facts.created + number
    return msgspec.structs.replace(facts, workload=f"Job/{job}", created=created)


def events(sent):
    return [each.removeprefix("event ") for each in sent if each.startswith("event ")]


def test_what_matters_most_goes_first():
    scene = Scene()
    numbers = written(scene, pod("numbers"))
    fix = written(scene, pod("fix"))
    series = written(scene, pod("series"))
    scene.clock += 1800
    scene.writer.hold(True)
    scene.writer.want(numbers, word(numbers, message="Needs 2; none.", step="wait"))
    scene.writer.want(series, word(series, step="wait"))
    scene.writer.want(fix, word(fix, message="Look.", step="look"))
    scene.writer.want(pod("word"), word(pod("word")))
    placed = msgspec.structs.replace(pod("placed", node="gpu-a"), published=fix.published)
    scene.writer.want(placed, None)
    scene.writer.hold(False)
    sent = scene.drain()[0]
    order = ["removal placed", "annotation word", "event word", "annotation fix", "series numbers"]
    assert [each for each in sent if each in order] == order
    assert sent[-1] == "annotation numbers"


def test_numbers_alone_are_written_once_in_ten_minutes():
    scene = Scene()
    here = written(scene, pod())
    sent = []
    for second in range(1, 1801):
        scene.clock += 1
        standing = word(here, message=f"Needs 2; {second} free.", step="wait")
        scene.writer.want(here, standing)
        if done := [each for each in scene.drain()[0] if each.startswith("annotation")]:
            sent.append(second)
            here = showing(here, standing)
            scene.writer.want(here, standing)
        assert len(done) < 2
    assert sent == [600, 1200, 1800]


def test_numbers_alone_are_five_a_second_of_all_pods():
    scene = Scene()
    pods = [written(scene, pod(f"p-{number:02}")) for number in range(40)]
    scene.clock += 600
    for each in pods:
        scene.writer.want(each, word(each, message="Needs 2; 1 free.", step="wait"))
    seconds = []
    for _ in range(8):
        seconds.append(len(scene.drain()[0]))
        scene.clock += 1
    assert seconds == [5] * 8


def test_a_first_word_does_not_wait_behind_numbers():
    scene = Scene()
    pods = [written(scene, pod(f"p-{number:02}")) for number in range(40)]
    scene.clock += 600
    for each in pods:
        scene.writer.want(each, word(each, message="Needs 2; 1 free.", step="wait"))
    scene.drain()
    scene.writer.want(pod("new"), word(pod("new")))
    assert scene.drain()[0] == ["annotation new", "event new"]


def test_another_step_is_written_once_in_five_minutes():
    scene = Scene()
    here = written(scene, pod())
    for seconds, message in ((300, "Look."), (1, "Wait."), (298, "Wait."), (1, "Wait.")):
        scene.clock += seconds
        standing = word(here, message=message, step=message)
        scene.writer.want(here, standing)
        sent = scene.drain()[0]
        assert sent == (["annotation train"] if seconds == 300 or scene.clock == 1600 else [])
        if sent:
            here = showing(here, standing)


def test_another_holder_is_never_written():
    scene = Scene()
    here = written(scene, pod(), message="Needs 2. Held by a (2).", taken=" Held by a (2).")
    scene.clock += 7200
    other = word(here, message="Needs 2. Held by b (2).", taken=" Held by b (2).", step="wait")
    scene.writer.want(here, other)
    assert scene.drain()[0] == ["series train"]


def test_after_a_restart_what_is_known_of_the_text_is_what_stands_there():
    standing = word(pod(), message="Needs 2. Held by a (2).")
    here = showing(pod(), standing)
    scene = Scene()
    parts = {"taken": " Held by b (2).", "step": "wait"}
    scene.writer.want(here, word(here, message="Needs 2. Held by b (2).", **parts))
    scene.clock += 600
    assert scene.drain()[0] == ["event train"]
    scene.writer.want(here, word(here, message="Needs 3. Held by b (2).", **parts))
    assert scene.drain()[0] == ["annotation train"]


def test_a_burst_and_then_fifty_a_second():
    scene = Scene()
    for number in range(400):
        scene.writer.want(pod(f"p-{number}"), word(pod(f"p-{number}"), *TAINT))
    seconds = []
    while scene.counters.queued:
        seconds.append(len(scene.drain()[0]))
        scene.clock += 1
    assert seconds == [100, *[50] * 14]


def test_the_rate_is_reached_while_answers_take_long_and_no_pod_has_two_requests():
    async def scenario():
        scene, flying, most = Scene(), [], 0

        async def send(write):
            nonlocal most
            uid = json.loads(write.body)["metadata"].get("uid") or write.says
            assert uid not in flying
            flying.append(uid)
            most = max(most, len(flying))
            for _ in range(20):
                await asyncio.sleep(0)
            flying.remove(uid)
            return OK

        scene.writer._send = send
        task = asyncio.create_task(scene.writer.run())
        for number in range(30):
            scene.writer.want(pod(f"p-{number}"), word(pod(f"p-{number}")))
        while scene.counters.writes.total() < 60:
            await asyncio.sleep(0)
        task.cancel()
        return most

    assert asyncio.run(scenario()) == CONNECTIONS


def test_a_pod_that_is_deleted_and_comes_back_while_its_write_is_on_its_way():
    async def scenario():
        scene, answer = Scene(), asyncio.Event()
        sent = []

        async def send(write):
            sent.append(write.says)
            await answer.wait()
            return OK

        scene.writer._send = send
        task = asyncio.create_task(scene.writer.run())
        scene.writer.want(pod(), word(pod()))
        while not sent:
            await asyncio.sleep(0)
        scene.writer.leave(pod().uid)
        scene.writer.want(pod(), word(pod(), *TAINT))
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(sent) == 1
        answer.set()
        while len(sent) < 3:
            await asyncio.sleep(0)
        task.cancel()
        return sent[:2]

    assert asyncio.run(scenario()) == ["exhausted/busy/1000", "taint/untolerated/1000"]


def test_an_error_in_a_write_ends_the_writer():
    async def scenario():
        scene = Scene(ZeroDivisionError("no reason"))
        scene.writer.want(pod(), word(pod()))
        await scene.writer.run()

    with pytest.raises(ZeroDivisionError, match="no reason"):
        asyncio.run(scenario())


def test_several_requests_that_nobody_answers_are_one_outage():
    async def scenario():
        scene = Scene(*[UnreachableError("refused")] * CONNECTIONS)
        for number in range(CONNECTIONS):
            scene.writer.want(pod(f"p-{number}"), word(pod(f"p-{number}")))
        task = asyncio.create_task(scene.writer.run())
        while len(scene.sent) < CONNECTIONS:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        return await scene.writer.step()

    assert asyncio.run(scenario()) == 1


def test_of_a_job_the_twenty_oldest_pods_have_events_and_all_have_annotations():
    scene = Scene()
    for number in range(50):
        scene.writer.want(of_job(number), word(of_job(number)))
    sent = scene.drain()[0]
    assert events(sent) == [f"train-{number:02}" for number in range(20)]
    assert len(sent) == 70


def test_as_a_job_gets_its_gpus_others_do_not_get_events_one_by_one():
    scene = Scene()
    for number in range(50):
        scene.writer.want(of_job(number), word(of_job(number)))
    scene.drain()
    for number in range(10):
        scene.clock += 60
        placed = showing(of_job(number), word(of_job(number)))
        scene.writer.want(msgspec.structs.replace(placed, node="gpu-a"), None)
        assert events(scene.drain()[0]) == []
    scene.clock = 2800
    sent = scene.drain()[0]
    assert events(sent) == [f"train-{number}" for number in range(20, 30)]
    assert sent.count("series train-19") == 1


@pytest.mark.parametrize("seen", [0, 7, 29])
def test_after_a_restart_the_same_pods_have_events(seen):
    scene = Scene()
    scene.clock = 1000 + 301
    pods = [showing(of_job(number), word(of_job(number))) for number in range(30)]
    for each in (*pods[seen:], *pods[:seen]):
        scene.writer.want(each, word(each))
    assert sorted(events(scene.drain()[0])) == [f"train-{number:02}" for number in range(20)]


def spells(scene, here, *spells):
    """Let words begin at these seconds; return the seconds at which Events were made."""
    made, last = [], spells[-1][0] + 1200
    for second in range(1000, last):
        scene.clock = float(second)
        for begins, cause, detail in spells:
            if begins == second:
                standing = word(here, cause, detail, since=second)
                scene.writer.want(here, standing)
        if events(scene.drain()[0]):
            made.append(second)
            here = showing(here, standing)
    return made


NORMAL, WARNING = (Cause.EXHAUSTED, Detail.BUSY), (Cause.EXHAUSTED, Detail.NEVER_FITS)


@pytest.mark.parametrize("detail", [Detail.FRAGMENTED, Detail.NODES_LOST, Detail.UNHEALTHY_DEVICES])
def test_what_a_full_cluster_looks_like_for_a_moment_is_no_warning(detail):
    scene, one = Scene(), pod()
    scene.writer.want(one, word(one, detail=detail))
    assert scene.drain() == (["annotation train"], 30.0)
    scene.clock += 30
    assert scene.drain()[0] == ["event train"]


def test_its_event_says_what_stands_on_the_pod_though_the_numbers_are_others_by_then():
    scene, one = Scene(), pod()
    first = word(one, detail=Detail.FRAGMENTED, message="Needs 2; 3 are free on 3 nodes.")
    scene.writer.want(one, first)
    scene.drain()
    shown = showing(one, first)
    scene.clock += 20
    scene.writer.want(shown, msgspec.structs.replace(first, message="Needs 2; 4 are free."))
    scene.clock += 10
    assert scene.drain()[0] == ["event train"]
    assert json.loads(scene.last.body)["note"] == first.message


def test_nor_is_it_one_if_the_pod_is_placed_before():
    scene, one = Scene(), pod()
    scene.writer.want(one, word(one, detail=Detail.FRAGMENTED))
    scene.drain()
    scene.clock += 20
    scene.writer.want(one, None)
    assert scene.drain()[0] == ["removal train"]
    scene.clock += 20
    assert scene.drain() == ([], math.inf)


def test_a_word_that_has_stood_so_long_and_calls_for_somebody_now_does_so_at_once():
    scene, one = Scene(), pod()
    scene.writer.want(one, word(one))
    scene.drain()
    scene.clock += 40
    scene.writer.want(one, word(one, detail=Detail.NODES_LOST))
    assert scene.drain()[0] == ["annotation train", "event train"]


@pytest.mark.parametrize(
    ("begin", "made"),
    [
        ([(1000, *TAINT), (1299, *WARNING)], [1000, 1300]),
        ([(1000, *TAINT), (1100, *WARNING), (1200, *TAINT)], [1000, 1300]),
        ([(1000, *TAINT), (1100, *WARNING), (1400, *TAINT)], [1000, 1300, 1600]),
        ([(1000, *NORMAL), (1010, *WARNING)], [1000, 1010]),
        ([(1000, *NORMAL), (1010, *WARNING), (1020, *TAINT)], [1000, 1010, 1310]),
        ([(1000, *WARNING), (1010, *NORMAL)], [1000, 1300]),
    ],
)
def test_a_pod_has_one_new_event_in_five_minutes(begin, made):
    assert spells(Scene(), pod(), *begin) == made


def events_with_a_restart(restart):
    """Return (when its word began, when it was made) of each Event."""
    begin = [(1000, *TAINT), (1100, *WARNING), (1400, *TAINT), (1450, *WARNING), (1460, *TAINT)]
    scene, here, standing, made = Scene(), pod(), None, {}
    for second in sorted({*range(1000, 2100, 10), restart}):
        if second == restart:
            scene = Scene()
            scene.writer.want(here, standing)
        scene.clock = float(second)
        for since, cause, detail in begin:
            if since == second:
                standing = word(here, cause, detail, since=second)
                scene.writer.want(here, standing)
        for each in scene.drain()[0]:
            if each.startswith("annotation"):
                here = showing(here, standing)
                scene.writer.want(here, standing)
            elif each.startswith("event"):
                made.setdefault(standing.since, second)
    return made


@pytest.mark.parametrize("start", [0, 10, 20])
def test_a_restart_at_any_moment_keeps_to_it(start):
    for restart in range(1001 + start, 1700, 30):
        made = events_with_a_restart(restart)
        seconds = list(made.values())
        assert all(later - sooner >= 300 for sooner, later in pairwise(seconds)), restart
        assert 1460 in made, restart


def test_what_another_replica_has_said_since_counts():
    scene = Scene()
    scene.writer.hold(True)
    scene.writer.want(pod(), word(pod()))
    theirs = word(pod(), *TAINT, since=1200)
    scene.clock = 1210.0
    scene.writer.want(showing(pod(), theirs), theirs)
    scene.writer.hold(False)
    assert scene.drain() == ([], 290)


def test_when_all_is_refused_a_few_writes_a_minute_are_tried():
    scene, one = Scene(*[Answer(403)] * 3000), pod()
    for number in range(3000):
        each = msgspec.structs.replace(one, name=f"p-{number}", uid=f"uid-{number}")
        scene.writer.want(each, word(each))
    assert len(scene.drain()[0]) == ENOUGH
    tried = 0
    for _ in range(60):
        scene.clock += 10
        tried += len(scene.drain()[0])
    assert tried == 10 * 60 / 20  # every 15 s, looked at every 10 s
    scene.answers.clear()
    scene.clock += ALL_SECONDS
    assert len(scene.drain()[0]) == 100  # as many as the burst allows


def test_what_was_refused_before_the_right_came_back_does_not_wait():
    scene = Scene(*[Answer(403)] * ENOUGH)
    for number in range(ENOUGH + 1):
        scene.writer.want(pod(f"p-{number}"), word(pod(f"p-{number}")))
    scene.drain()
    scene.clock += ALL_SECONDS
    sent = [each for each in scene.drain()[0] if "annotation" in each]
    # First the one that has not been tried yet; no pod has changed meanwhile.
    assert sent[0] == f"annotation p-{ENOUGH}"
    assert sorted(sent) == [f"annotation p-{number}" for number in range(ENOUGH + 1)]


def test_keys_that_somebody_else_owns_too_are_taken_over():
    left = Answer(200, annotations={"gpu-triage.io/cause": "ok", "example.com/x": "1"})
    emptied = Answer(200, annotations={"gpu-triage.io/cause": ""})
    scene = Scene(left, emptied)
    copied = msgspec.structs.replace(pod(node="gpu-a"), published={"cause": "ok"})
    scene.writer.want(copied, None)
    assert scene.drain() == (["removal train"] * 3, math.inf)
    assert scene.drain()[0] == []


def test_keys_that_cannot_be_taken_over_are_left():
    left = Answer(200, annotations={"gpu-triage.io/cause": "ok"})
    scene = Scene(*[left] * 9)
    copied = msgspec.structs.replace(pod(node="gpu-a"), published={"cause": "ok"})
    scene.writer.want(copied, None)
    assert scene.drain() == (["removal train"] * 3, math.inf)
    scene.writer.want(copied, None)
    assert scene.drain() == ([], math.inf)


def test_keys_of_a_former_domain_go_with_the_first_write():
    scene = Scene(old_domains=("old.example.com",))
    here = msgspec.structs.replace(pod(), published={"old.example.com/cause": "taint"})
    scene.writer.want(here, word(here))
    assert scene.drain()[0] == ["annotation train", "event train"]
    scene.writer.want(showing(here, word(here)), word(here))
    assert scene.drain()[0] == []


def test_at_the_end_removals_are_made_and_nothing_else():
    async def scenario():
        scene = Scene()
        scene.writer.hold(True)
        for name in "abc":
            placed = pod(name, node="gpu-a")
            scene.writer.want(showing(placed, word(placed)), None)
            scene.writer.want(pod(f"new-{name}"), word(pod(f"new-{name}")))
        scene.writer.hold(False)
        task = asyncio.create_task(scene.writer.run())
        await scene.writer.finish(4)
        task.cancel()
        return scene.sent

    assert asyncio.run(scenario()) == ["removal a", "removal b", "removal c"]


@pytest.mark.parametrize("why", ["held", "mute"])
def test_the_end_does_not_wait_for_ever(why):
    async def scenario():
        scene = Scene()

        async def mute(_):
            scene.sent.append("")
            await asyncio.Event().wait()

        scene.writer._send = mute
        placed = pod(node="gpu-a")
        scene.writer.want(showing(placed, word(placed)), None)
        scene.writer.hold(why == "held")
        task = asyncio.create_task(scene.writer.run())
        await scene.writer.finish(0.05)
        task.cancel()
        return len(scene.sent)

    assert asyncio.run(scenario()) == (1 if why == "mute" else 0)


def test_a_refusal_of_single_pods_is_theirs_alone():
    scene = Scene(Answer(403), OK, OK, Answer(403))
    for name in "abc":
        scene.writer.want(pod(name), word(pod(name)))
    sent, wait = scene.drain()
    assert sent == ["annotation a", "annotation b", "annotation c", "event b", "event c"]
    assert wait == REFUSED_SECONDS
