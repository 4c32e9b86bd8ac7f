"""The chart, installed on the real API server: what comes, what an upgrade changes, what is left.

There is no kubelet, so no operator runs in its pods (tests/incluster is for that); KWOK says that
they do.
"""

import json

import pytest

from tests.chart.helm import CHART, IMAGE, Helm, HelmError
from tests.e2e import laboratory

RELEASE = "chart-test"
NAME = f"{RELEASE}-gpu-triage"
KINDS = (
    "all,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,configmaps,secrets,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings,poddisruptionbudgets,leases"
)


@pytest.fixture
def home(cluster, namespace):
    """A namespace that takes no pod but one of Pod Security's strictest kind."""
    level = "pod-security.kubernetes.io/enforce=restricted"
    cluster.kubectl("label", "namespace", namespace, level)
    return namespace


@pytest.fixture
def room(add_node):
    """A node without GPUs, for the operator's pods."""
    return {"nodeSelector": {"kubernetes.io/hostname": add_node(None)}}


@pytest.fixture
def helm(cluster, tmp_path):
    return Helm(tmp_path, cluster.kubeconfig)


def named(cluster, namespace):
    """Every object of the release that there is, as KIND/NAME."""
    found = set()
    for where in (("-n", namespace), ()):
        listing = json.loads(cluster.kubectl("get", KINDS, *where, "-o", "json"))
        for item in listing["items"]:
            if item["metadata"]["name"].startswith(NAME):
                found.add(f"{item['kind']}/{item['metadata']['name']}")
    return found


def versions(cluster, text):
    """What of each object of a stream changes with every write: its version, its generation."""
    listing = json.loads(cluster.kubectl("get", "-f", "-", "-o", "json", input=text))
    return {
        (item["kind"], item["metadata"]["name"]): (
            # Controllers keep the status of the others up to date.
            item["metadata"].get("generation") or item["metadata"]["resourceVersion"]
        )
        for item in listing["items"]
    }


def deployed(cluster, namespace):
    return json.loads(cluster.kubectl("get", "deployment", NAME, "-n", namespace, "-o", "json"))


def test_it_installs_upgrades_and_leaves_nothing(cluster, home, room, helm):
    place = ("-n", home)
    values = {"image": IMAGE, **room}
    told = helm.run(
        *("install", RELEASE, str(CHART), *place, "--wait", "--timeout=2m"), values=values
    )
    assert "Two commands to try" in told
    first = deployed(cluster, home)
    assert first["status"]["readyReplicas"] == 1

    changed = {**values, "settings": {"fitSeconds": 60}, "replicas": 2}
    helm.run(*("upgrade", RELEASE, str(CHART), *place, "--wait", "--timeout=2m"), values=changed)
    second = deployed(cluster, home)
    assert second["spec"]["strategy"]["type"] == "RollingUpdate"
    assert second["status"]["readyReplicas"] == 2
    for each, seconds in ((first, "30"), (second, "60")):
        (container,) = each["spec"]["template"]["spec"]["containers"]
        given = {pair["name"]: pair["value"] for pair in container["env"]}
        assert given["GPU_TRIAGE_FIT_SECONDS"] == seconds
    assert f"Role/{NAME}" in named(cluster, home)

    # Its hook's Job runs as a pod too, in the same strict namespace.
    helm.run("uninstall", RELEASE, *place, "--timeout=2m")
    laboratory.wait_for(
        "nothing of the release is left",
        lambda: not named(cluster, home),
        seen=lambda: named(cluster, home),
    )


def test_a_second_apply_changes_nothing(cluster, home, room, helm):
    """What Argo CD, Flux and kubectl diff look at: no drift, by either way of applying."""
    text = helm.text({**room, "replicas": 2}, "--no-hooks", name=RELEASE, namespace=home)
    try:
        cluster.kubectl("apply", "-f", "-", input=text)
        laboratory.wait_for(
            "both replicas are ready",
            lambda: deployed(cluster, home)["status"].get("readyReplicas") == 2,
            60,
        )
        before = versions(cluster, text)
        again = cluster.kubectl("apply", "-f", "-", input=text).splitlines()
        assert len(again) == len(before)
        # kubectl sends a patch for every PodDisruptionBudget, whose selector is replaced whole.
        assert [line for line in again if not line.endswith(" unchanged")] == [
            f"poddisruptionbudget.policy/{NAME} configured"
        ]
        assert versions(cluster, text) == before
        assert cluster.kubectl("diff", "-f", "-", input=text) == ""
        server_side = ("--server-side", "--force-conflicts", "--field-manager=gitops")
        assert cluster.kubectl("diff", *server_side, "-f", "-", input=text) == ""
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=text)


def test_without_the_right_to_policies_nothing_is_installed(
    cluster, home, helm, kubeconfig_for, tmp_path
):
    """Who may do the rest is told what is missing, before anything is there."""
    rights = [
        {
            "apiGroups": ["", "apps", "rbac.authorization.k8s.io"],
            "resources": ["*"],
            "verbs": ["*"],
        },
        {"apiGroups": ["policy"], "resources": ["*"], "verbs": ["*"]},
    ]
    laboratory.add_account(cluster, home, "installer", rights, everywhere=True)
    few = Helm(tmp_path, kubeconfig_for(home, "installer"))
    try:
        with pytest.raises(HelmError, match='cannot get resource "validatingadmissionpolicies"'):
            few.run("install", RELEASE, str(CHART), "-n", home, values={"image": IMAGE})
        assert named(cluster, home) == set()
    finally:
        for kind in ("clusterrolebinding", "clusterrole"):
            cluster.kubectl("delete", kind, f"{home}-installer")
