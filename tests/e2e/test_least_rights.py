"""With the operator's real token: it may do what it needs, and nothing else.

The rights and policies are those of deploy/rbac, applied as they are shipped; tests/chart holds
them equal to the chart's.
"""

import contextlib
import json
import re

import pytest

from tests import builders
from tests.chart.helm import Helm
from tests.e2e import laboratory
from tests.e2e.account import JSON_PATCH, Account, wait_until_held
from tests.e2e.forbidden import CAUSE, IGNORED, INVALID, OTHERS, PATCHES, with_own
from tests.e2e.operator_process import ACCOUNT, DOMAIN, NAMESPACE, give_rights, take_rights

POD, KEPT = "held", "kept"
OWN = {f"{DOMAIN}/{key}": key for key in ("cause", "detail", "message", "since")}
POLICY = "ValidatingAdmissionPolicy"


@pytest.fixture(scope="module")
def place(cluster):
    """A namespace of its own for all tests of this file."""
    laboratory.add_namespace(cluster, "least-rights")
    yield "least-rights"
    laboratory.clear_namespace(cluster, "least-rights")


@pytest.fixture(scope="module")
def operator(cluster, place):
    """The operator's account, once the policies hold it."""
    give_rights(cluster)
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE).strip()
    account = Account(cluster, token)
    laboratory.apply(cluster, builders.pod("probe", namespace=place, selector={"no": "node"}))
    wait_until_held(account, place, "probe")
    yield account
    take_rights(cluster)


@contextlib.contextmanager
def waiting_pod(cluster, place, name):
    """A pod that waits, with a label, annotations and a finalizer."""
    waiting = builders.pod(
        name, namespace=place, selector={"no": "node"}, annotations={"team": "blue", CAUSE: "old"}
    )
    waiting["metadata"]["labels"] = {"app": "web"}
    waiting["metadata"]["finalizers"] = ["example.com/hold"]
    laboratory.apply(cluster, waiting)
    yield laboratory.get_pod(cluster, place, name)
    free = json.dumps({"metadata": {"finalizers": None}})
    cluster.kubectl("patch", "pod", name, "-n", place, "--type=merge", "-p", free)
    cluster.kubectl(
        *("delete", "pod", name, "-n", place, "--grace-period=0", "--force", "--ignore-not-found")
    )


@pytest.fixture
def pod(cluster, place):
    """A pod for a test that changes it."""
    with waiting_pod(cluster, place, POD) as made:
        yield made


@pytest.fixture(scope="module")
def kept(cluster, place):
    """A pod for all tests whose writes do not reach it."""
    with waiting_pod(cluster, place, KEPT) as made:
        yield made


def read(account, place, name):
    """Return a pod as the operator reads a single one: by a list."""
    path = f"/api/v1/namespaces/{place}/pods?fieldSelector=metadata.name={name}"
    (found,) = account.send("GET", path)[1]["items"]
    return found


def status_of(place, name=POD):
    return f"/api/v1/namespaces/{place}/pods/{name}/status"


def test_it_sets_changes_and_removes_its_own_annotations(cluster, place, operator, pod):
    uid = pod["metadata"]["uid"]
    for annotations in (OWN, OWN, {**OWN, CAUSE: "taint"}, {CAUSE: "taint"}, {}, {}):
        status, answer = operator.apply(place, POD, annotations, uid)
        assert status == 200, answer["message"]
        now = answer["metadata"]["annotations"]
        assert now["team"] == "blue"
        ours = {key: value for key, value in now.items() if key.startswith(f"{DOMAIN}/")}
        assert ours == annotations
    changed = laboratory.get_pod(cluster, place, POD)
    for each in (changed, pod):
        for key in ("annotations", "managedFields", "resourceVersion"):
            each["metadata"].pop(key, None)
    for each in (changed, pod):  # the scheduler may have tried it meanwhile
        each.pop("status")
    assert changed == pod


def test_it_may_write_in_every_other_way_that_ends_in_its_own_keys(place, operator, pod):
    path = status_of(place)
    patch = {"metadata": {"annotations": {CAUSE: "taint"}}}
    for kind in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
        assert operator.send("PATCH", path, patch, kind)[0] == 200
    assert operator.merge(path, {})[0] == 200
    assert operator.merge(path, {"metadata": {"annotations": {CAUSE: None}}})[0] == 200
    pointer = f"/metadata/annotations/{CAUSE.replace('/', '~1')}"
    add = [{"op": "add", "path": pointer, "value": "taint"}]
    assert operator.send("PATCH", path, add, JSON_PATCH)[0] == 200
    same = {**patch, "status": {"phase": pod["status"]["phase"]}}
    assert operator.merge(path, same)[0] == 200


def test_a_bare_pod_gets_its_first_annotation_and_loses_its_last(cluster, place, operator):
    bare = builders.pod("bare", namespace=place, selector={"no": "node"})
    bare["metadata"].pop("labels", None)
    bare["metadata"].pop("annotations", None)
    cluster.kubectl("create", "-f", "-", input=json.dumps(bare))
    status, answer = operator.apply(place, "bare", {CAUSE: "taint"})
    assert (status, answer["metadata"]["annotations"]) == (200, {CAUSE: "taint"})
    status, answer = operator.apply(place, "bare", {})
    assert (status, "annotations" in answer["metadata"]) == (200, False)


def test_a_terminating_pod_may_be_written_to(cluster, place, operator, pod):
    operator.apply(place, POD, OWN)
    cluster.kubectl(
        "delete", "pod", POD, "-n", place, "--wait=false", "--grace-period=0", "--force"
    )
    for annotations in ({CAUSE: "taint"}, {}):
        status, answer = operator.apply(place, POD, annotations)
        assert status == 200, answer["message"]
        assert "deletionTimestamp" in answer["metadata"]


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_it_may_not_write_to_a_pod(place, operator, kept, patch):
    for body in (patch, with_own(patch)):
        for path in (status_of(place, KEPT), f"{status_of(place, KEPT)}?dryRun=All"):
            if body is None:
                continue
            status, answer = operator.merge(path, body)
            assert (status, answer["reason"]) == (403, "Forbidden"), answer["message"]
            assert f"{POLICY} 'gpu-triage-pods'" in answer["message"]
    after = read(operator, place, KEPT)
    for key in ("labels", "annotations", "finalizers"):
        assert after["metadata"][key] == kept["metadata"][key]
    assert after["status"]["phase"] == "Pending"


def test_a_refusal_names_the_annotation(place, operator, kept):
    _, answer = operator.merge(status_of(place, KEPT), PATCHES["ignore, which is the user's"])
    assert answer["message"].endswith(
        "denied request: gpu-triage may not touch the annotation gpu-triage.io/ignore"
    )


@pytest.mark.parametrize("patch", INVALID.values(), ids=INVALID)
def test_nor_may_anybody(place, operator, kept, patch):
    status, answer = operator.merge(status_of(place, KEPT), patch)
    assert (status, answer["reason"]) == (422, "Invalid"), answer["message"]


@pytest.mark.parametrize("patch", IGNORED.values(), ids=IGNORED)
def test_a_patch_of_the_status_does_not_reach(place, operator, kept, patch):
    """The API server sets these back before anybody is asked."""
    operator.merge(status_of(place, KEPT), patch)
    after = read(operator, place, KEPT)
    assert after["spec"]["containers"] == kept["spec"]["containers"]
    assert "nodeName" not in after["spec"]
    assert "ownerReferences" not in after["metadata"]
    assert "deletionTimestamp" not in after["metadata"]
    assert "selfLink" not in after["metadata"]


@pytest.mark.parametrize(("method", "path", "body"), OTHERS.values(), ids=OTHERS)
def test_it_has_no_other_right(place, operator, kept, method, path, body):
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    status, answer = operator.send(method, path.format(place=place), body, content)
    assert (status, answer["reason"]) == (403, "Forbidden"), answer["message"]
    assert POLICY not in answer["message"]


def event(place, name="held.1", controller=f"{DOMAIN}/operator", **rest):
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": place},
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": POD, "namespace": place},
        "eventTime": "2026-01-20T10:00:00.000000Z",
        "reportingController": controller,
        "reportingInstance": "gpu-triage",
        "action": "Triaged",
        "reason": "GPUTaint",
        "type": "Normal",
        "note": "Note.",
        **rest,
    }


def events_of(place, name=""):
    return f"/apis/events.k8s.io/v1/namespaces/{place}/events/{name}".rstrip("/")


SERIES = {"series": {"count": 2, "lastObservedTime": "2026-01-20T10:30:00.000000Z"}}


def test_it_makes_and_renews_events_in_its_own_name_only(cluster, place, operator):
    status, answer = operator.send("POST", events_of(place), event(place))
    assert status == 201, answer["message"]
    status, answer = operator.merge(events_of(place, "held.1"), SERIES)
    assert (status, answer["series"]["count"]) == (200, 2)

    for posed in ("kubelet", "default-scheduler", f"{DOMAIN}/operator2"):
        status, answer = operator.send("POST", events_of(place), event(place, "p", posed))
        assert (status, answer["reason"]) == (403, "Forbidden"), answer["message"]
        assert f"{POLICY} 'gpu-triage-events'" in answer["message"]

    others = event(place, "kubelet.1", "kubelet")
    cluster.kubectl("create", "-f", "-", input=json.dumps(others))
    for patch in (SERIES, {"metadata": {"labels": {"a": "b"}}}):
        status, answer = operator.merge(events_of(place, "kubelet.1"), patch)
        assert (status, answer["reason"]) == (403, "Forbidden"), answer["message"]
        assert f"{POLICY} 'gpu-triage-events'" in answer["message"]


def test_a_right_given_by_mistake_is_of_no_use(cluster, place, operator, pod):
    """The policy is for every way to write to a pod, and for Events by the core group too."""
    laboratory.apply(cluster, *mistake())
    try:
        patch = {"metadata": {"annotations": {CAUSE: "taint"}}}
        path = status_of(place).removesuffix("/status")

        def refusal():
            status, answer = operator.merge(path, patch)
            assert status == 403
            return answer["message"] if POLICY in answer["message"] else None

        told = laboratory.wait_for("the right to patch pods is there", refusal)
        assert told.endswith("gpu-triage may write to a pod only by pods/status")
        posed = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "posed", "namespace": place},
            "involvedObject": {"kind": "Pod", "name": POD, "namespace": place},
            "reason": "Evicted",
            "type": "Warning",
            "source": {"component": "kubelet"},
        }
        status, answer = operator.send("POST", f"/api/v1/namespaces/{place}/events", posed)
        assert status == 403
        assert f"{POLICY} 'gpu-triage-events'" in answer["message"]

        # By the core group another's Event could be made its own: there the reporter may change.
        cluster.kubectl("create", "-f", "-", input=json.dumps(event(place, "taken", "kubelet")))
        core = f"/api/v1/namespaces/{place}/events/taken"
        status, answer = operator.merge(core, {"reportingComponent": f"{DOMAIN}/operator"})
        assert status == 403
        assert answer["message"].endswith("gpu-triage may change no Events but its own")
    finally:
        for kind in ("clusterrolebinding", "clusterrole"):
            cluster.kubectl("delete", kind, "gpu-triage-mistake")


def mistake():
    group = "rbac.authorization.k8s.io"
    meta = {"name": "gpu-triage-mistake"}
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": meta,
        "rules": [
            {"apiGroups": [""], "resources": ["pods", "pods/resize"], "verbs": ["patch"]},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        ],
    }
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **meta},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }


def test_the_api_server_finds_nothing_wrong_with_the_expressions(cluster, operator):
    for name in ("gpu-triage-pods", "gpu-triage-events"):
        checked = laboratory.wait_for(
            f"{name} is checked", lambda name=name: seen_generation(cluster, name)
        )
        assert "expressionWarnings" not in checked.get("typeChecking", {})


def seen_generation(cluster, name):
    text = cluster.kubectl("get", "validatingadmissionpolicy", name, "-o", "json")
    found = json.loads(text)
    status = found.get("status", {})
    seen = status.get("observedGeneration") == found["metadata"]["generation"]
    return status if seen and "typeChecking" in status else None


def test_other_accounts_are_not_held(cluster, place, operator, pod):
    patch = json.dumps({"metadata": {"labels": {"app": "other"}}})
    cluster.kubectl(
        "patch", "pod", POD, "-n", place, "--subresource=status", "--type=merge", "-p", patch
    )


def test_the_account_of_the_cleanup_is_held_too(cluster, place, operator, pod, tmp_path):
    """It lives while helm uninstall runs, when the operator's own policy is gone already."""
    hooks = Helm(tmp_path).hooks({"fullnameOverride": "rights-test"})
    rights = [item for (kind, _), item in hooks.items() if kind != "Job"]
    for item in rights:
        if "namespace" in item["metadata"]:
            item["metadata"]["namespace"] = NAMESPACE
    laboratory.apply(cluster, *rights)
    try:
        token = cluster.kubectl("create", "token", "rights-test-cleanup", "-n", NAMESPACE).strip()
        cleanup = Account(cluster, token)
        wait_until_held(cleanup, place, "probe")
        operator.apply(place, POD, OWN)
        for patch in ("a label removed", "phase: Failed", "ignore, which is the user's"):
            status, answer = cleanup.merge(status_of(place), PATCHES[patch])
            assert (status, answer["reason"]) == (403, "Forbidden")
            assert re.search(f"{POLICY} 'rights-test-cleanup'", answer["message"])
        assert cleanup.send("GET", "/api/v1/nodes")[0] == 403
        assert cleanup.send("POST", events_of(place), event(place, "c"))[0] == 403
        assert cleanup.send("GET", "/api/v1/pods?limit=1")[0] == 200
        status, answer = cleanup.apply(place, POD, {})
        assert status == 200
        assert not [key for key in answer["metadata"]["annotations"] if key.startswith(DOMAIN)]
    finally:
        listing = {"apiVersion": "v1", "kind": "List", "items": rights}
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=json.dumps(listing))
