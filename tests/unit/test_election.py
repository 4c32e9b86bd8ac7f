"""Replicas and their Lease against a fake of the API server, in virtual time.

What the real one answers is tested in tests/e2e/test_replicas.py.
"""

import asyncio
import contextlib
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpu_triage.controller.election import GRACE_SECONDS, Election
from gpu_triage.controller.lease import Timing
from gpu_triage.publish.write import Answer, Kind, UnreachableError, Write
from tests import virtual_time

LEASE = "gpu-triage/gpu-triage"
TIMING = Timing(10)
WRITE = Write(Kind.ANNOTATION, "PATCH", "/x", "application/json", b"{}", "x")


class Api:
    """Keeps one Lease as the API server does, and can be told to fail."""

    def __init__(self):
        self.lease = None
        self.revision = 0
        self.requests = []
        self.refusal = None
        """Status of every answer."""
        self.away = False

    @property
    def holder(self):
        return self.lease["spec"].get("holderIdentity")

    def answer(self, method, body):
        self.requests.append(method)
        if self.away:
            raise UnreachableError("refused")
        if self.refusal:
            return self.refusal, {"kind": "Status", "message": "no"}
        if method == "GET":
            return (200, json.loads(json.dumps(self.lease))) if self.lease else (404, {})
        given = json.loads(body)
        revision = given["metadata"].get("resourceVersion")
        if revision != (self.lease["metadata"]["resourceVersion"] if self.lease else None):
            return 409, {}
        made = self.lease is None
        self.revision += 1
        given["metadata"]["resourceVersion"] = str(self.revision)
        self.lease = given
        return (201 if made else 200), json.loads(json.dumps(given))


class Replica:
    """One process: its election, and whether it knows the cluster."""

    def __init__(self, api, me, delays=None):
        self.api, self.me = api, me
        self.delays = delays or (lambda: (0.0, 0.0))
        self.ready = self.fit = True
        self.stopped_for = 0.0
        """How far its own clock is ahead of what its event loop knows: it was stopped."""
        self.goes_on = 0.0
        """Until when it hangs, and nothing of it runs."""
        self.changes = 0
        self.election = Election(
            self.ask,
            LEASE,
            me,
            TIMING,
            ready=lambda: self.ready,
            fit=lambda: self.fit,
            changed=self._count,
            clock=lambda: asyncio.get_running_loop().time() + self.stopped_for,
            wall=lambda: 1767225600 + asyncio.get_running_loop().time(),
        )
        self.task = asyncio.create_task(self.election.run())

    @property
    def has_looked(self):
        """Whether it has seen the Lease, so that it knows of its holder."""
        return self.election._seen is not None

    def _count(self):
        self.changes += 1

    async def ask(self, method, path, body, seconds):
        assert path == "/apis/coordination.k8s.io/v1/namespaces/gpu-triage/leases/gpu-triage"
        before, after = self.delays()
        await self.running()
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(before)
                answer = self.api.answer(method, body)
                await asyncio.sleep(after)
                await self.running()
                return answer
        except TimeoutError:
            raise UnreachableError("no answer in time") from None

    async def running(self):
        while (left := self.goes_on - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)

    @property
    def leads(self):
        return self.election.term is not None

    async def end(self, *, killed=False):
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task
        if not killed:
            await self.election.end()


def timeline(scene):
    """Run a test that is a coroutine of an Api in virtual time."""

    def run():
        async def whole():
            await scene(Api())
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        virtual_time.run(whole)

    run.__name__ = scene.__name__
    return run


async def until(condition, most=60.0):
    """Wait in steps of 0.1 s; return how long it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not condition():
        assert loop.time() - begun < most, "never"
        await asyncio.sleep(0.1)
    return loop.time() - begun


@timeline
async def test_the_first_makes_the_lease_and_renews_it_with_one_request(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    assert api.requests == ["GET", "PUT"]
    assert (one.election.term, one.changes) == (1, 1)
    made = api.lease["spec"]
    await asyncio.sleep(9)
    assert api.requests[2:] == ["PUT"] * 4
    assert (one.election.term, one.changes) == (1, 1)
    assert api.lease["spec"] == {**made, "renewTime": "2026-01-01T00:00:08.000000Z"}


@timeline
async def test_the_second_takes_over_when_nothing_was_heard_for_the_lease(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    two = Replica(api, "two")
    await asyncio.sleep(60)
    assert one.leads
    assert not two.leads
    await one.end(killed=True)
    assert 8 <= await until(lambda: two.leads) <= 12.2
    assert (api.holder, api.lease["spec"]["leaseTransitions"]) == ("two", 1)


@timeline
async def test_a_leader_that_ends_gives_it_back_and_the_next_begins_after_a_moment(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    two = Replica(api, "two")
    await asyncio.sleep(5.5)
    await one.end()
    assert (api.holder, one.leads) == ("", False)
    assert GRACE_SECONDS <= await until(lambda: two.leads) <= 3.2
    assert api.lease["spec"]["leaseTransitions"] == 1


@timeline
async def test_a_renewal_that_was_under_way_at_the_end_is_no_obstacle(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    one.delays = lambda: (0.0, 1.0)
    await asyncio.sleep(2.5)  # its renewal has been taken, its answer is on its way
    one.delays = lambda: (0.0, 0.0)
    await one.end()
    assert api.holder == ""


@timeline
async def test_a_leader_that_cannot_renew_steps_down_and_leads_again_when_it_can(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    await asyncio.sleep(1.9)
    api.away = True
    assert 3.9 <= await until(lambda: not one.leads) <= 4.2
    await asyncio.sleep(30)
    api.away = False
    await until(lambda: one.leads, most=3)
    assert (one.election.term, one.changes) == (2, 3)
    assert api.lease["spec"]["leaseTransitions"] == 0


@timeline
async def test_a_renewal_whose_answer_is_lost_does_not_cost_the_lead(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    one.delays = lambda: (0.0, 60.0)
    await asyncio.sleep(2.5)
    one.delays = lambda: (0.0, 0.0)
    await asyncio.sleep(60)
    assert (one.election.term, one.changes) == (1, 1)


@timeline
async def test_one_that_was_stopped_does_not_lead_when_it_wakes(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    one.stopped_for = 5.8
    assert one.leads
    one.stopped_for = 6
    assert not one.leads
    with pytest.raises(UnreachableError, match="another replica may lead"):
        await one.election.send(answered, WRITE)


@timeline
async def test_a_lease_that_somebody_deletes_changes_nothing(api):
    one, two = Replica(api, "one"), Replica(api, "two")
    await asyncio.sleep(5)
    leader = one if one.leads else two
    api.lease = None
    await asyncio.sleep(30)
    assert (api.holder, leader.election.term, leader.changes) == (leader.me, 1, 1)


@timeline
async def test_a_lease_whose_holder_ends_when_it_is_deleted_is_taken_in_time(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    two = Replica(api, "two")
    await asyncio.sleep(3)
    await one.end(killed=True)
    api.lease = None
    took = await until(lambda: two.leads, most=15)
    assert took > 9


@timeline
async def test_a_lease_that_was_free_when_it_was_last_seen_may_have_been_taken_before_its_end(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    two = Replica(api, "two")
    two.ready = False
    one.fit = False
    await until(lambda: two.has_looked and two.election._seen.spec.holder_identity == "")
    one.fit = two.ready = True
    two.goes_on = asyncio.get_running_loop().time() + 3.5
    await until(lambda: one.leads)
    one.goes_on = asyncio.get_running_loop().time() + 10  # it cannot learn of this:
    api.lease = None
    await until(lambda: two.leads or not one.leads)
    assert not two.leads
    await until(lambda: two.leads, most=15)


@timeline
async def test_one_that_does_not_know_the_cluster_does_not_take_it(api):
    one = Replica(api, "one")
    one.ready = False
    await asyncio.sleep(30)
    assert api.requests == ["GET"] * 15
    two = Replica(api, "two")
    await until(lambda: two.leads)
    await two.end(killed=True)
    await asyncio.sleep(30)
    assert (one.leads, one.election.problems()) == (False, [])
    one.ready = True
    await until(lambda: one.leads, most=3)


@timeline
async def test_one_that_sees_the_cluster_no_more_gives_it_back_after_its_last_write(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    Replica(api, "two")
    await asyncio.sleep(1)
    write = asyncio.create_task(one.election.send(taking(4), WRITE))
    await asyncio.sleep(0)
    one.fit = False
    await until(lambda: not one.leads)
    assert api.holder == "one"
    await until(lambda: api.holder == "two")
    assert write.done()
    assert await write == Answer(200)


@timeline
async def test_a_write_is_given_up_before_another_can_lead(api):
    one = Replica(api, "one")
    await until(lambda: one.leads)
    two = Replica(api, "two")
    await asyncio.sleep(1)
    await one.end(killed=True)
    write = asyncio.create_task(one.election.send(taking(60), WRITE))
    with pytest.raises(UnreachableError, match="no answer while the Lease lasted"):
        await write
    assert not two.leads
    await until(lambda: two.leads, most=5)


@timeline
async def test_no_right_to_the_lease_is_said_once_and_mended_without_a_restart(api):
    one = Replica(api, "one")
    api.refusal = 403
    await asyncio.sleep(30)
    assert one.election.problems() == [
        f"lease {LEASE}: the right to get, create and update it is missing"
    ]
    api.refusal = None
    await until(lambda: one.leads, most=3)
    assert one.election.problems() == []


@pytest.mark.parametrize(("verb", "holder"), [("get", None), ("create", None), ("update", "gone")])
def test_what_the_log_says_of_a_missing_right(verb, holder, caplog):
    async def scene():
        api = Api()
        if holder:
            spec = {"holderIdentity": holder, "leaseDurationSeconds": 10}
            api.lease = {"metadata": {"resourceVersion": "7"}, "spec": spec}
        answer = api.answer

        def refuse(method, body):
            missing = method == ("GET" if verb == "get" else "PUT")
            return (403, {"message": "no"}) if missing else answer(method, body)

        api.answer = refuse
        one = Replica(api, "one")
        await asyncio.sleep(60)
        assert len(one.election.problems()) == 1
        await one.end()

    virtual_time.run(scene)
    said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert said == [
        f"Lease cannot be used, so no replica may write lease={LEASE} verb={verb} status=403 "
        "answer='no' fix='let the operator get, create and update this lease: "
        "kubectl apply -f deploy/rbac'"
    ]


@timeline
async def test_the_right_to_look_alone_is_not_enough_where_nobody_holds_it(api):
    one = Replica(api, "one")
    answer = api.answer
    api.answer = lambda method, body: (403, {}) if method == "PUT" else answer(method, body)
    await asyncio.sleep(5)
    assert len(one.election.problems()) == 1
    # Another one holds it: somebody can write, and this one stands by.
    api.answer = answer
    two = Replica(api, "two")
    one.ready = False
    await until(lambda: two.leads)
    await until(lambda: not one.election.problems())


@timeline
async def test_a_namespace_that_is_not_there_is_named(api):
    one = Replica(api, "one")
    api.refusal = 404
    await asyncio.sleep(5)
    assert one.election.problems() == [f"lease {LEASE}: create was answered with status 404"]


@timeline
async def test_what_others_write_into_the_lease_stays(api):
    api.lease = {
        "metadata": {"resourceVersion": "7", "labels": {"team": "gpu"}},
        "spec": {"strategy": "x"},
    }
    one = Replica(api, "one")
    await until(lambda: one.leads)
    assert api.lease["metadata"]["labels"] == {"team": "gpu"}
    assert api.lease["spec"]["strategy"] == "x"


@timeline
async def test_an_answer_that_is_no_lease_is_none(api):
    one = Replica(api, "one")
    api.answer = lambda *_: (200, None)
    await asyncio.sleep(5)
    assert not one.leads
    assert not one.task.done()


async def answered(_):
    return Answer(200)


def taking(seconds):
    async def send(_):
        await asyncio.sleep(seconds)
        return Answer(200)

    return send


slow = st.floats(0, 3) | st.floats(0, 20)
acts = st.sampled_from(["hang", "kill", "unfit", "fit", "delete"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    delays=st.lists(st.tuples(slow, slow), max_size=60),
    happens=st.lists(st.tuples(st.floats(0, 15), acts, st.integers(0, 2)), max_size=12),
)
# Deleted before any other has seen that it was renewed once more.
@example(
    delays=[],
    happens=[(1.0, "hang", 0), (6.75, "hang", 0), (7.0, "delete", 0), (2.0, "hang", 0)],
)
def test_whatever_happens_no_two_write_at_a_time(delays, happens):
    """Requests and answers are slow or lost; replicas hang, are killed, blind; Leases vanish."""
    virtual_time.run(lambda: churn(delays, happens))


async def churn(delays, happens):
    api, waits = Api(), iter(delays)
    replicas = [Replica(api, f"r{n}", lambda: next(waits, (0.01, 0.01))) for n in range(3)]
    writes = [asyncio.create_task(keep_writing(each, replicas, waits)) for each in replicas]
    for pause, act, number in happens:
        await asyncio.sleep(pause)
        one = replicas[number]
        match act:
            case "hang":
                one.goes_on = asyncio.get_running_loop().time() + pause
            case "kill":
                await one.end(killed=True)
            case "unfit" | "fit":
                one.fit = act == "fit"
            # One that has never seen a Lease cannot know whose it was: docs/reliability.md.
            case "delete" if all(each.has_looked for each in replicas):
                api.lease = None
    for each in replicas:
        each.fit = True
        if each.task.done():
            each.task = asyncio.create_task(each.election.run())
    await until(lambda: any(each.leads for each in replicas), most=120)
    for task in (*writes, *(each.task for each in replicas)):
        task.cancel()
    await asyncio.gather(*writes, *(each.task for each in replicas), return_exceptions=True)
    for task in writes:
        assert task.cancelled() or task.exception() is None, task.exception()


async def keep_writing(me, replicas, waits):
    async def arrive(_):
        before, after = next(waits, (0.01, 0.01))
        await asyncio.sleep(before)
        assert not any(each.leads for each in replicas if each is not me), "two write"
        await asyncio.sleep(after)
        return Answer(200)

    while True:
        await me.running()
        if me.leads:
            with contextlib.suppress(UnreachableError):
                await me.election.send(arrive, WRITE)
        await asyncio.sleep(0.3)
