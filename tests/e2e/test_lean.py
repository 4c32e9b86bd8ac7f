"""The filter before kopf changes what the operator costs and not what it says."""

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.operator_process import (
    OperatorProcess,
    give_rights,
    own_kubeconfig,
    published,
    take_rights,
    wait_for_word,
    wait_until_bare,
)
from tests.e2e.same_words import wait_until_right

WORDS = {
    name: word for name, word in laboratory.LAB_WORDS.items() if word not in ("ok", "no-request")
}


@pytest.fixture(scope="module")
def the_lab(cluster, tmp_path_factory):
    """The lab, and the kubeconfig of the operator's own account."""
    give_rights(cluster)
    laboratory.lay_lab(cluster)
    yield own_kubeconfig(cluster, tmp_path_factory.mktemp("lean"))
    laboratory.clear_lab(cluster)
    take_rights(cluster)


@pytest.mark.parametrize("lean", ["true", "false"])
def test_the_lab_and_its_churn_are_the_same_both_ways(
    cluster, the_lab, namespace, add_node, tmp_path, lean
):
    node = add_node(2)
    settings = {"node_starting_seconds": 0, "settle_seconds": 0.2, "fit_seconds": 1, "lean": lean}
    with OperatorProcess(the_lab, tmp_path, **settings) as operator:
        operator.wait_ready()
        for name, word in WORDS.items():
            wait_for_word(cluster, laboratory.LAB, name, word)
        wait_until_right(cluster, operator)

        def pods(*names, gpus):
            selector = {"kubernetes.io/hostname": node}
            made = [builders.pod(name, gpus, selector=selector) for name in names]
            return [
                {**each, "metadata": {"name": each["metadata"]["name"], "namespace": namespace}}
                for each in made
            ]

        laboratory.apply(cluster, *pods("hold-a", "hold-b", gpus=1), *pods("web", gpus=0))
        for name in ("hold-a", "hold-b", "web"):
            laboratory.wait_for(
                f"{name} runs", lambda name=name: laboratory.placed(cluster, namespace, name)
            )
        laboratory.apply(cluster, *pods("wait", gpus=2), *pods("big", gpus=3))
        wait_for_word(cluster, namespace, "wait", "exhausted/busy")
        cluster.kubectl(
            *("delete", "pod", "hold-a", "hold-b", "web", "-n", namespace),
            *("--grace-period=0", "--force"),
        )
        laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "wait"))
        wait_until_bare(cluster, namespace, "wait")
        wait_until_right(cluster, operator)
        assert published(cluster, namespace, "big")["detail"] == "never-fits"
        assert operator.stop() == 0
    assert "Traceback" not in operator.log.read_text()
