"""How long nothing is written while the API server answers nobody, and what the log says of it."""

from gpu_triage.publish.complaints import Complaints
from gpu_triage.publish.outage import MOST_SECONDS, Outage
from gpu_triage.publish.write import Answer, Kind, Result, Write


def test_pauses_grow_and_an_answer_makes_the_next_a_short_one():
    outage, clock, pauses = Outage(), 10.0, []
    for _ in range(6):
        outage.pause(clock)
        pauses.append(outage.left(clock))
        clock += pauses[-1]
        assert outage.left(clock) == 0.0
    assert pauses == [1.0, 2.0, 4.0, 8.0, MOST_SECONDS, MOST_SECONDS]
    outage.over()
    outage.pause(clock)
    assert outage.left(clock) == 1.0


def test_of_several_requests_that_failed_together_one_counts():
    outage = Outage()
    for moment in (0.0, 0.25, 0.5):
        outage.pause(moment)
    assert outage.left(0.5) == 1.0
    outage.pause(1.5)
    assert outage.left(1.5) == 2.0


def test_what_the_api_server_asks_for_is_kept():
    outage = Outage()
    outage.pause(0.0, at_least=40.0)
    outage.pause(0.5)
    assert outage.left(0.5) == 39.5


def told(caplog, kind, result, message=""):
    complaints = Complaints()
    write = Write(kind, "PATCH", "/", "", b"", says="")
    for _ in range(2):
        complaints.make(write, Answer(403, message=message), result, "team/train")
    complaints.taken(kind)
    complaints.make(write, Answer(403, message=message), result, "team/other")
    first, second = (record.getMessage() for record in caplog.records)
    assert first.replace("team/train", "team/other") == second
    return first


def test_a_refusal_is_said_once_until_a_write_is_taken(caplog):
    said = told(caplog, Kind.ANNOTATION, Result.REFUSED, "pods is forbidden")
    assert "pod=team/train status=403" in said
    assert "let the operator patch pods/status: kubectl apply -f deploy/rbac" in said


def test_a_policy_that_denies_is_told_from_a_right_that_is_missing(caplog):
    said = told(caplog, Kind.EVENT, Result.REFUSED, "ValidatingAdmissionPolicy 'x' denied request")
    assert "the policy that it names must let this account write" in said


def test_what_is_not_valid_is_ours_to_mend(caplog):
    assert "report this" in told(caplog, Kind.SERIES, Result.INVALID)
