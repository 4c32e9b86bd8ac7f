"""How the operator leaves people alone: clean-up, other domains, ignored pods, no lists."""

import os
import re
import subprocess
import sys

import bench.lists
import pytest

from tests import builders
from tests.chart.helm import Helm
from tests.e2e import laboratory
from tests.e2e.operator_process import (
    ROOT,
    OperatorProcess,
    give_rights,
    own_kubeconfig,
    published,
    take_rights,
    wait_for_word,
    wait_until_bare,
)

COPIED = {"gpu-triage.io/cause": "taint", "gpu-triage.io/since": "2026-01-01T00:00:00Z"}
MANY = 40


@pytest.fixture(scope="module")
def kubeconfig(cluster, tmp_path_factory):
    """The operator's own account with the rights that are shipped."""
    give_rights(cluster)
    yield own_kubeconfig(cluster, tmp_path_factory.mktemp("quiet"))
    take_rights(cluster)


@pytest.fixture
def apply(cluster, namespace, add_node):
    """A function that applies pods that want a node which is not there, or the one that is named.

    There is a node, so that their word is label-mismatch.
    """
    add_node(1)

    def make(*names, annotations=None, gpus=2, node=None):
        selector = {"kubernetes.io/hostname": node or "nowhere"}
        pods = []
        for name in names:
            raw = builders.pod(
                name, gpus, namespace=namespace, selector=selector, annotations=annotations
            )
            pods.append(
                {
                    **raw,
                    "metadata": {
                        key: value
                        for key, value in raw["metadata"].items()
                        if key not in ("uid", "creationTimestamp")
                    },
                }
            )
        laboratory.apply(cluster, *pods)

    return make


def operator(kubeconfig, folder, **settings):
    return OperatorProcess(kubeconfig, folder, node_starting_seconds=0, **settings)


def clean_up(kubeconfig, **settings):
    """Run the clean-up to its end."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "operator"),
        "KUBECONFIG": str(kubeconfig),
        **{f"GPU_TRIAGE_{name.upper()}": value for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "gpu_triage.controller.main", "--cleanup"]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def all_annotations(cluster, namespace):
    """Return the annotations of every pod of a namespace, by its name."""
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in pods}


def test_the_clean_up_leaves_nothing(cluster, namespace, kubeconfig, apply, tmp_path):
    many = [f"p-{number:03}" for number in range(MANY)]
    apply(*many)
    apply("copied", annotations={**COPIED, "example.com/note": "keep"})
    with operator(kubeconfig, tmp_path) as running:
        running.wait_ready()
        for name in (many[0], many[-1], "copied"):
            wait_for_word(cluster, namespace, name, "label-mismatch", timeout=90)
        assert running.stop() == 0
    done = clean_up(kubeconfig)
    assert done.returncode == 0, done.stderr
    left = all_annotations(cluster, namespace)
    assert {name: each for name, each in left.items() if "gpu-triage" in str(each.keys())} == {}
    assert left["copied"]["example.com/note"] == "keep"
    said = re.search(r"Removed all annotations pods=(\d+) seconds=(\S+)", done.stderr)
    assert int(said[1]) >= MANY + 1
    assert "Traceback" not in done.stderr
    again = clean_up(kubeconfig)
    assert (again.returncode, "pods=0" in again.stderr) == (0, True)


def test_a_clean_up_that_is_refused_says_what_to_do(cluster, namespace, apply, kubeconfig_for):
    apply(*(f"p-{number}" for number in range(20)), annotations=COPIED)
    rights = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    laboratory.add_account(cluster, namespace, "reader", rights, everywhere=True)
    done = clean_up(kubeconfig_for(namespace, "reader"))
    assert done.returncode == 1
    assert "Could not clean up: may not patch pods/status; give this account" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("Write was not taken") == 1
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{namespace}-reader")


def test_another_domain_takes_the_place_of_the_old_one(
    cluster, namespace, kubeconfig, apply, add_node, tmp_path
):
    # The policy knows both, as it does while a chart is upgraded to another domain.
    chart = Helm(tmp_path).render({"settings": {"oldAnnotationDomains": ["old.example.com"]}})
    laboratory.apply(cluster, chart["ValidatingAdmissionPolicy", "gpu-triage-pods"])
    node = add_node(1)
    apply("train", "placed", node=node)
    with operator(kubeconfig, tmp_path, annotation_domain="old.example.com") as running:
        running.wait_ready()
        for name in ("train", "placed"):
            laboratory.wait_for(
                "it has its word",
                lambda name=name: (
                    "old.example.com/cause"
                    in laboratory.get_pod(cluster, namespace, name)["metadata"].get(
                        "annotations", {}
                    )
                ),
                60,
                seen=running.log.read_text,
            )
        assert running.stop() == 0
    laboratory.patch_status(
        cluster, node, capacity={builders.GPU: "2"}, allocatable={builders.GPU: "2"}
    )
    laboratory.wait_for(
        "one runs",
        lambda: any(laboratory.placed(cluster, namespace, name) for name in ("train", "placed")),
    )
    with operator(kubeconfig, tmp_path, old_annotation_domains="old.example.com") as running:
        running.wait_ready()
        waits = "placed" if laboratory.placed(cluster, namespace, "train") else "train"
        wait_for_word(cluster, namespace, waits, "exhausted")
        laboratory.wait_for(
            "nothing of the old domain is left",
            lambda: "old.example.com" not in str(all_annotations(cluster, namespace)),
            seen=lambda: all_annotations(cluster, namespace),
        )
        assert running.stop() == 0


def test_whoever_asks_to_be_left_alone_is(cluster, namespace, kubeconfig, apply, tmp_path):
    apply("one", "two")
    with operator(kubeconfig, tmp_path) as running:
        running.wait_ready()
        for name in ("one", "two"):
            wait_for_word(cluster, namespace, name, "label-mismatch")
        sample = 'gpu_triage_pending_pods{cause="label-mismatch",detail="unknown-value"}'
        counted = running.metric(sample)
        cluster.kubectl("annotate", "pod", "one", "-n", namespace, "gpu-triage.io/ignore=true")
        laboratory.wait_for(
            "its word is gone", lambda: published(cluster, namespace, "one") == {"ignore": "true"}
        )
        assert published(cluster, namespace, "two")["cause"] == "label-mismatch"
        cluster.kubectl("annotate", "namespace", namespace, "gpu-triage.io/ignore=true")
        wait_until_bare(cluster, namespace, "two")
        assert running.metric(sample) == counted
        cluster.kubectl("annotate", "namespace", namespace, "gpu-triage.io/ignore-")
        wait_for_word(cluster, namespace, "two", "label-mismatch")
        assert published(cluster, namespace, "one") == {"ignore": "true"}
        assert running.stop() == 0


def lists(cluster):
    """How many lists the API server has answered, by kind."""
    return bench.lists.lists(cluster.kubectl("get", "--raw", "/metrics"))


def test_after_the_start_nothing_is_listed(
    cluster, namespace, kubeconfig, apply, add_node, tmp_path
):
    node = add_node(1)
    with operator(kubeconfig, tmp_path) as running:
        running.wait_ready()
        before = lists(cluster)
        for number in range(5):
            apply(f"p-{number}", node=node)
            wait_for_word(cluster, namespace, f"p-{number}", "exhausted/never-fits")
            cluster.kubectl(
                "delete", "pod", f"p-{number}", "-n", namespace, "--grace-period=0", "--force"
            )
        assert lists(cluster) == before
        assert running.stop() == 0
    assert min(before[kind] for kind in ("pods", "nodes", "namespaces")) > 0
