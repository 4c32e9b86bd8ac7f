"""When a kind counts as read, as forbidden, as stale."""

from gpu_triage.controller.feed import REFUSED_SECONDS, STALE_SECONDS, Feed
from gpu_triage.core.causes import Detail


class Scene:
    """A feed and its clock."""

    def __init__(self, **how):
        self.clock = 0.0
        self.feed = Feed("nodes", "", "v1", clock=lambda: self.clock, **how)


def test_a_kind_is_read_when_the_last_object_of_the_last_page_was_handled():
    feed = Scene().feed
    feed.page(["a", "b"], first=True, last=False)
    feed.handled("a")
    feed.handled("b")
    assert (feed.synced, feed.unread(), feed.settled()) == (False, Detail.NOT_SYNCED, False)
    feed.page(["c"], first=False, last=True)
    assert not feed.synced
    feed.handled("c")
    assert (feed.synced, feed.unread(), feed.settled()) == (True, None, True)


def test_an_empty_list_is_read_at_once():
    feed = Scene().feed
    feed.page([], first=True, last=True)
    assert feed.synced


def test_while_a_new_list_is_taken_the_picture_may_be_behind_and_the_operator_is_ready():
    feed = Scene().feed
    feed.page(["a", "b"], first=True, last=True)
    feed.handled("a")
    feed.handled("b")
    assert not feed.stale()
    feed.page(["a"], first=True, last=False)
    assert (feed.stale(), feed.synced, feed.problem()) == (True, True, "")
    feed.page(["b"], first=False, last=True)
    feed.handled("a")
    assert feed.stale()
    feed.handled("b")
    assert not feed.stale()


def test_a_new_list_that_never_ends_is_a_problem():
    scene = Scene()
    scene.feed.page([], first=True, last=True)
    scene.feed.page(["a"], first=True, last=False)
    scene.clock = STALE_SECONDS + 1
    scene.feed.answered()
    assert scene.feed.problem() == "nodes: being read anew for 151 s"


def test_a_new_list_that_is_refused_halfway_is_forbidden_and_not_behind():
    scene = Scene()
    scene.feed.page([], first=True, last=True)
    scene.feed.page(["a"], first=True, last=False)
    scene.feed.refused("list")
    scene.clock = REFUSED_SECONDS
    assert not scene.feed.stale()
    assert scene.feed.unread() is Detail.FORBIDDEN


def test_a_refusal_is_believed_after_a_while_and_said_once(caplog):
    scene = Scene()
    feed = scene.feed
    feed.refused("list")
    assert feed.problem() == "nodes: the right to list and watch them is missing"
    assert (feed.unread(), feed.settled()) == (Detail.NOT_SYNCED, False)
    scene.clock = REFUSED_SECONDS
    feed.refused("list")
    assert (feed.unread(), feed.settled()) == (Detail.FORBIDDEN, True)
    assert len(caplog.records) == 1


def test_a_right_that_comes_back_is_noticed(caplog):
    caplog.set_level("INFO")
    scene = Scene()
    feed = scene.feed
    feed.page([], first=True, last=True)
    feed.refused("watch")
    scene.clock = 60
    assert feed.unread() is Detail.FORBIDDEN
    feed.answered()
    assert (feed.unread(), feed.problem()) == (None, "")
    assert "Right is back kind=nodes" in caplog.text


def test_a_kind_that_is_optional_counts_as_empty_where_it_is_refused():
    scene = Scene(optional=True)
    scene.feed.refused("list")
    scene.clock = REFUSED_SECONDS
    assert (scene.feed.unread(), scene.feed.settled(), scene.feed.problem()) == (None, True, "")


def test_a_silent_watch_is_stale_and_a_byte_ends_that():
    scene = Scene()
    scene.feed.page([], first=True, last=True)
    scene.clock = STALE_SECONDS + 1
    assert scene.feed.stale()
    assert scene.feed.problem() == "nodes: no sign of life for 151 s"
    scene.feed.answered()
    assert not scene.feed.stale()


def test_how_long_a_watch_may_be_silent_can_be_set():
    scene = Scene(stale_seconds=9)
    scene.feed.page([], first=True, last=True)
    assert scene.feed.patience == 6
    scene.clock = 10
    assert scene.feed.age() == 10
    assert scene.feed.stale()


def test_a_kind_that_has_not_been_read_says_so():
    assert Scene().feed.problem() == "nodes: not read yet"


def test_paths_are_those_of_the_api():
    assert Scene().feed.path == "/api/v1/nodes"
    feed = Feed("deviceclasses", "resource.k8s.io", "v1", clock=float)
    assert feed.path == "/apis/resource.k8s.io/v1/deviceclasses"
