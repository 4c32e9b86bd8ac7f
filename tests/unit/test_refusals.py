"""Refusals in a row close the way for all alike, and one that gets through opens it."""

from gpu_triage.publish.refusals import ALL_SECONDS, ENOUGH, NAMESPACE_SECONDS, Refusals
from gpu_triage.publish.write import Kind

REMOVAL, WORD, EVENT = Kind.REMOVAL, Kind.ANNOTATION, Kind.EVENT


def refused(*namespaces, clock=100.0, **rest):
    refusals = Refusals()
    for namespace in namespaces:
        refusals.refused(WORD, namespace, clock, **rest)
    return refusals


def test_some_refusals_close_nothing():
    assert refused(*"abcd").until(WORD) == 0


def test_refusals_in_a_row_close_the_way_for_all_namespaces_and_for_that_right_alone():
    refusals = refused(*"abcde")
    assert refusals.until(WORD) == refusals.until(REMOVAL) == 100 + ALL_SECONDS
    assert refusals.until(EVENT) == 0
    assert refusals.until_in("a", WORD) == 0


def test_one_is_tried_at_a_time():
    refusals = refused(*"abcde")
    refusals.trying(WORD, "a", 115.0)
    assert refusals.until(WORD) == 130
    refusals.refused(WORD, "a", 116.0)
    assert refusals.until(WORD) == 131


def test_one_that_is_taken_opens_everything():
    refusals = refused(*"aaaaa")
    refusals.taken(WORD, "b")
    assert refusals.until(WORD) == refusals.until_in("a", WORD) == 0
    assert refusals.reopened == 1


def test_a_namespace_that_refuses_while_others_do_not_is_left_alone_by_itself():
    refusals = Refusals()
    for _ in range(ENOUGH):
        refusals.refused(WORD, "a", 100.0)
        refusals.taken(WORD, "b")
    assert refusals.until(WORD) == refusals.until_in("b", WORD) == 0
    assert refusals.until_in("a", WORD) == 100 + NAMESPACE_SECONDS
    refusals.taken(WORD, "b")
    assert refusals.until_in("a", WORD) == 100 + NAMESPACE_SECONDS
    refusals.taken(WORD, "a")
    assert refusals.until_in("a", WORD) == 0


def test_a_namespace_that_ends_says_nothing_of_others():
    refusals = refused(*["a"] * ENOUGH, ending=True)
    assert refusals.until_in("a", WORD) == 100 + NAMESPACE_SECONDS
    assert refusals.until(WORD) == 0
