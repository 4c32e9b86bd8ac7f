"""What passes the sieve, what does not, and whose end is made up."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from gpu_triage.controller.sieve import BUNDLE, GONE_LINE, REMEMBERED_ENDS, Sieve, lean
from gpu_triage.controller.slim import Slim
from gpu_triage.core import objects
from gpu_triage.core.mention import tokens
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests import builders

TOKENS = tokens(Rules())
CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.yaml"))


def versioned(raw, version):
    return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(version)}}


def plain(name, version=1):
    return versioned(builders.pod(name, 0), version)


def gpu(name, version=1):
    return versioned(builders.pod(name), version)


def listed(*items, version=10, more=""):
    metadata = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    whole = {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}
    return json.dumps(whole, separators=(",", ":")).encode()


def line(kind, raw):
    return json.dumps({"type": kind, "object": raw}, separators=(",", ":")).encode() + b"\n"


def names(page):
    return [each["metadata"]["name"] for each in page.document["items"]]


def bundled(page):
    """The slim objects of a page, which are all that there are in it."""
    (item,) = page.document["items"]
    return item[BUNDLE]


def passes(sieve, kind, raw):
    """Whether an event goes on to kopf, and unchanged."""
    given = line(kind, raw)
    kept = sieve.lines(given.rstrip(b"\n"))
    assert kept in (b"", given)
    return kept == given


@pytest.fixture
def sieve():
    """Knows the pod "known" at version 5, from a list at version 10."""
    made = Sieve(TOKENS)
    made.page(listed(gpu("known", 5), plain("web")), first=True)
    return made


def test_tokens_are_the_literal_parts_and_as_few_as_will_do():
    assert TOKENS == (b'"gpu-triage.io/', b'"nvidia.com/gpu', b'"nvidia.com/mig-')
    rules = Rules(
        resources=("*.example.com/gpu", "amd.com/[gx]pu", "a?b.example.org/x*y", "intel.com/[]x]i"),
        domain="example.net",
    )
    assert tokens(rules) == (
        b'"amd.com/',
        b'"example.net/',
        b'"intel.com/',
        b".example.com/gpu",
        b"b.example.org/x",
    )


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("*/*", "x.com/y"), ("?*", "x.com/y"), ("a.com/[!x]b", "a.com/yb"), ("a.com/[b", "a.com/[b")],
)
def test_every_name_that_a_pattern_matches_passes(pattern, name):
    rules = Rules(resources=(pattern,))
    assert rules.is_gpu(name)
    sieve = Sieve(tokens(rules))
    assert passes(sieve, "ADDED", builders.pod(resource=name))


def test_a_page_holds_the_pods_that_name_a_gpu_or_carry_our_annotations():
    marked = builders.pod("marked", 0, annotations={"gpu-triage.io/cause": "taint"})
    mig = builders.pod("mig", resource="nvidia.com/mig-1g.5gb")
    page = Sieve(TOKENS).page(listed(plain("web"), gpu("gpu"), marked, mig, more="x"), first=True)
    assert names(page) == ["gpu", "marked", "mig"]
    assert page.awaited == {"uid-default-gpu", "uid-default-marked", "uid-default-mig"}
    assert not page.last
    assert page.document["kind"] == "PodList"
    assert page.document["metadata"] == {"resourceVersion": "10", "continue": "x"}
    assert page.document["items"][0] == gpu("gpu")


def test_a_list_may_have_no_items_at_all():
    page = Sieve(TOKENS).page(b'{"metadata":{"continue":""},"items":null}', first=True)
    assert (names(page), page.last, page.awaited) == ([], True, frozenset())


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"items":[]}', b'{"metadata":{},"items":[{'])
def test_what_is_no_list_is_refused(body):
    with pytest.raises(msgspec.MsgspecError):
        Sieve(TOKENS).page(body, first=True)


def test_without_tokens_everything_passes():
    sieve = Sieve()
    page = sieve.page(listed(plain("web"), gpu("gpu")), first=True)
    assert names(page) == ["web", "gpu"]
    assert passes(sieve, "ADDED", plain("more", 11))


def test_events_of_pods_that_name_no_gpu_are_dropped(sieve):
    assert not passes(sieve, "MODIFIED", plain("web", 11))
    assert not passes(sieve, "DELETED", plain("web", 12))
    assert passes(sieve, "ADDED", gpu("gpu", 13))


def test_what_has_passed_once_passes_for_ever(sieve):
    assert passes(sieve, "MODIFIED", plain("known", 11))
    assert names(sieve.page(listed(plain("known", 11)), first=True)) == ["known"]
    assert passes(sieve, "DELETED", plain("known", 12))
    assert not passes(sieve, "ADDED", plain("known", 13))


def test_what_a_new_list_lacks_ends_with_the_first_line_of_the_next_watch(sieve):
    first = sieve.page(listed(gpu("other", 12), version=20, more="x"), first=True)
    last = sieve.page(listed(version=20), first=False)
    assert (first.vanished, last.vanished, last.last) == (0, 1, True)
    assert last.awaited == {"uid-default-known"}
    assert sieve.ends() == (
        b'{"type":"DELETED","object":{"metadata":{"uid":"uid-default-known"}}}\n'
    )
    assert sieve.ends() == b""
    assert sieve.page(listed(gpu("other", 12)), first=True).awaited == {"uid-default-other"}


def test_a_list_that_breaks_off_ends_nothing(sieve):
    sieve.page(listed(gpu("other"), more="x"), first=True)
    page = sieve.page(listed(gpu("known", 5), gpu("other")), first=True)
    assert page.awaited == {"uid-default-known", "uid-default-other"}
    assert sieve.ends() == b""


def test_ends_that_were_not_told_before_another_list_are_told_after_it(sieve):
    sieve.page(listed(version=20), first=True)
    assert sieve.page(listed(version=21), first=True).awaited == {"uid-default-known"}
    assert b"uid-default-known" in sieve.ends()


def test_an_object_that_is_listed_again_after_all_does_not_end(sieve):
    sieve.page(listed(version=20), first=True)
    assert names(sieve.page(listed(gpu("known", 5), version=21), first=True)) == ["known"]
    assert sieve.ends() == b""


def test_an_event_older_than_what_is_known_is_dropped(sieve):
    assert passes(sieve, "MODIFIED", gpu("known", 12))
    assert not passes(sieve, "MODIFIED", gpu("known", 11))
    assert passes(sieve, "MODIFIED", gpu("known", 12))


def test_an_event_that_comes_after_the_end_is_dropped(sieve):
    assert passes(sieve, "DELETED", gpu("known", 13))
    assert not passes(sieve, "MODIFIED", gpu("known", 12))
    assert not passes(sieve, "DELETED", gpu("known", 13))
    # Of objects that nobody saw before, too.
    assert not passes(sieve, "DELETED", gpu("short", 16))
    assert not passes(sieve, "ADDED", gpu("short", 15))


def test_an_event_older_than_a_list_that_lacks_its_object_is_dropped(sieve):
    assert not passes(sieve, "MODIFIED", gpu("before", 9))
    assert passes(sieve, "ADDED", gpu("after", 11))


def test_a_new_list_is_believed_even_where_it_is_older(sieve):
    """The API server may have been restored from a backup."""
    assert passes(sieve, "MODIFIED", gpu("known", 90))
    sieve.page(listed(gpu("known", 3), version=4), first=True)
    assert passes(sieve, "MODIFIED", gpu("known", 5))
    assert passes(sieve, "ADDED", gpu("new", 6))


def test_versions_that_are_no_numbers_are_not_compared():
    sieve = Sieve(TOKENS)
    sieve.page(listed(gpu("known", "b"), version="c"), first=True)
    assert passes(sieve, "MODIFIED", gpu("known", "a"))
    assert passes(sieve, "ADDED", gpu("new", ""))


def test_only_so_many_ends_are_remembered(sieve):
    for number in range(REMEMBERED_ENDS + 1):
        passes(sieve, "DELETED", plain(f"web-{number}", 20 + number))
    assert passes(sieve, "ADDED", gpu("web-0", 19))
    assert not passes(sieve, "ADDED", gpu("web-1", 19))


def test_bookmarks_pass_and_errors_become_gone(sieve):
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "99"}}
    assert passes(sieve, "BOOKMARK", bookmark)
    assert sieve.lines(line("ERROR", {"kind": "Status", "code": 500})) == GONE_LINE
    assert sieve.lines(b"<html>") == GONE_LINE
    assert sieve.lines(b"\n\n") == b""
    both = line("ADDED", gpu("a", 11)) + line("ADDED", plain("b", 12)) + line("ADDED", gpu("c", 13))
    assert sieve.lines(both) == line("ADDED", gpu("a", 11)) + line("ADDED", gpu("c", 13))


def rich(version, **rest):
    raw = gpu("rich", version)
    raw["metadata"]["managedFields"] = [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]
    raw["spec"]["volumes"] = [{"name": "data"}]
    return {**raw, **rest}


def test_what_passes_is_slim_and_has_its_version():
    sieve = lean("pods", Rules())
    (each,) = bundled(sieve.page(listed(rich(5)), first=True))
    assert (each.uid, each.version) == ("uid-default-rich", "5")
    assert each.object == objects.pod(gpu("rich"))
    event = json.loads(sieve.lines(line("ADDED", gpu("new", 11))))
    assert event["type"] == "ADDED"
    assert event["object"]["metadata"]["resourceVersion"] == "11"
    assert event["object"]["metadata"]["uid"] == "uid-default-new"


def test_an_event_that_changes_nothing_that_is_read_is_dropped():
    sieve = lean("pods", Rules())
    sieve.page(listed(rich(5)), first=True)
    assert sieve.lines(line("MODIFIED", rich(11))) == b""
    assert b'"Running"' in sieve.lines(line("MODIFIED", rich(12, status={"phase": "Running"})))
    assert sieve.lines(line("MODIFIED", rich(13, status={"phase": "Running"}))) == b""
    assert sieve.lines(line("MODIFIED", rich(11))) == b""
    assert b'"Pending"' in sieve.lines(line("MODIFIED", rich(14)))
    # A list says it all again.
    assert len(bundled(sieve.page(listed(rich(14)), first=True))) == 1


def test_signs_of_life_of_nodes_are_dropped():
    sieve = lean("nodes", Rules())
    sieve.page(listed(versioned(builders.node(), 5)), first=True)
    alive = versioned(builders.node(), 11)
    alive["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    assert sieve.lines(line("MODIFIED", alive)) == b""
    cordoned = versioned(builders.node(unschedulable=True), 12)
    assert b'"unschedulable":true' in sieve.lines(line("MODIFIED", cordoned))


def test_an_object_that_does_not_parse_passes_as_it_is_every_time():
    sieve = lean("pods", Rules())
    broken = rich(11)
    broken["spec"]["nodeSelector"] = "x"
    for _ in range(2):
        assert sieve.lines(line("MODIFIED", broken)) == line("MODIFIED", broken)
    assert sieve.page(listed(broken), first=True).document["items"] == [broken]


def test_the_objects_of_a_page_pass_as_one_and_pages_have_the_same_names_again():
    sieve = lean("pods", Rules())

    def read(*pods, first):
        page = sieve.page(listed(*pods, more="x"), first=first)
        return [item["metadata"]["uid"] for item in page.document["items"]], page.awaited

    for _ in range(2):
        assert read(gpu("a"), plain("web"), gpu("b"), first=True) == (
            ["page-0"],
            {"uid-default-a", "uid-default-b"},
        )
        assert read(gpu("c"), first=False) == (["page-1"], {"uid-default-c"})
        assert read(plain("web"), first=False) == ([], set())


def test_an_older_state_is_known_from_one_that_nothing_has_followed():
    sieve = lean("pods", Rules())
    sieve.page(listed(rich(5)), first=True)
    uid = "uid-default-rich"
    sieve.lines(line("MODIFIED", rich(11)))  # dropped: what came before it still holds
    assert not sieve.outdated(uid, "5")
    sieve.lines(line("MODIFIED", rich(12, status={"phase": "Running"})))
    assert sieve.outdated(uid, "5")
    assert not sieve.outdated(uid, "12")
    assert not sieve.outdated("uid-default-other", "5")
    assert not sieve.ended(uid)
    sieve.lines(line("DELETED", rich(13)))
    assert sieve.ended(uid)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_slim_object_says_all_that_the_whole_one_says(path):
    raws = yaml.safe_load(path.read_text())["objects"]
    facts = {"Pod": (objects.pod, pod_facts), "Node": (objects.node, node_facts)}
    for raw in raws:
        if raw.get("kind") in facts:
            parse, summed = facts[raw["kind"]]
            whole = {**raw, "metadata": {"uid": "u", **raw["metadata"]}}
            sieve = Sieve((), Slim(f"{raw['kind'].lower()}s"))
            (slim,) = bundled(sieve.page(listed(whole), first=True))
            assert summed(slim.object, Rules()) == summed(parse(whole), Rules())


def test_of_namespaces_those_pass_that_ask_to_be_left_alone():
    def space(name, annotations=None):
        metadata = {"name": name, "uid": name, "annotations": annotations}
        return versioned({"kind": "Namespace", "metadata": metadata}, 11)

    sieve = lean("namespaces", Rules())
    asks = {"gpu-triage.io/ignore": "true"}
    page = sieve.page(listed(space("a"), space("b", asks), space("c", {"x": "y"})), first=True)
    assert [each.uid for each in bundled(page)] == ["b"]
    assert sieve.lines(line("MODIFIED", space("d")).rstrip()) == b""
    assert sieve.lines(line("MODIFIED", space("d", asks)).rstrip()) != b""


def test_pods_with_annotations_of_a_former_domain_pass():
    rules = Rules(old_domains=("old.example.com",))
    sieve = Sieve(tokens(rules))
    old = builders.pod("old", 0, annotations={"old.example.com/cause": "taint"})
    assert names(sieve.page(listed(versioned(old, 1), plain("web")), first=True)) == ["old"]
    assert pod_facts(objects.pod(old), rules).published == {"old.example.com/cause": "taint"}


@pytest.mark.parametrize(
    ("reason", "text", "kept"),
    [
        ("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 8)}]", True),
        ("NotTriggerScaleUp", "pod didn't trigger scale-up: 2 max node group size reached", True),
        ("Nominated", "Pod should schedule on: nodeclaim/gpu-x7k2q", True),
        ("FailedScheduling", "Failed to schedule pod, all available instance types exceed", True),
        ("FailedScheduling", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", False),
        ("Scheduled", "Successfully assigned default/train to gpu-a", False),
    ],
)
def test_of_events_those_of_autoscalers_pass(reason, text, kept):
    made = versioned(builders.event(reason, text), 11)
    made["metadata"]["uid"] = "uid-event"
    got = lean("events", Rules()).lines(line("ADDED", made).rstrip())
    assert bool(got) is kept
    if kept:
        assert objects.event(json.loads(got)["object"]) == objects.event(made)
