"""The command in the hands of people with few rights, or none, on a real cluster."""

import json

from tests import builders
from tests.e2e import laboratory

PODS_ONLY = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


def test_who_may_only_read_pods_gets_unknown_or_the_published_word(
    cluster, namespace, add_node, cli, kubeconfig_for
):
    add_node()
    laboratory.add_account(cluster, namespace, "reader", PODS_ONLY)
    reader = kubeconfig_for(namespace, "reader")
    selector = {"no": "node"}
    laboratory.apply(
        cluster,
        builders.pod("waiting", namespace=namespace, selector=selector),
        builders.pod("plain", 0, namespace=namespace, selector=selector),
    )
    line = (
        "gpu-triage: may not list nodes (cluster-wide): words that rest on nodes are unknown."
        " Ask for the verb list on nodes.\n"
    )

    # The kubeconfig names the namespace.
    done = cli("waiting", kubeconfig=reader)
    assert (done.returncode, done.stdout, done.stderr) == (0, "unknown\n", line)
    done = cli("plain", kubeconfig=reader)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no-request\n", "")
    told = json.loads(cli("waiting", "-o", "json", kubeconfig=reader).stdout)
    assert (told["cause"], told["detail"], told["source"]) == ("unknown", "forbidden", "computed")

    publish(cluster, namespace, "waiting", cause="taint", detail="untolerated", message="Told.")
    done = cli("waiting", kubeconfig=reader)
    assert (done.returncode, done.stdout) == (0, "taint\n")
    assert done.stderr == (
        f"{line}gpu-triage: published by the operator, since 2026-01-20T10:00:00Z.\n"
    )
    told = json.loads(cli("waiting", "-o", "json", kubeconfig=reader).stdout)
    assert (told["cause"], told["source"]) == ("taint", "published")
    assert (told["message"], told["since"]) == ("Told.", "2026-01-20T10:00:00Z")

    done = cli("-o", "word", kubeconfig=reader)
    assert (done.returncode, done.stdout) == (0, "waiting taint\n")
    assert "may not list pods (cluster-wide)" in done.stderr

    # Somebody who may read the nodes sees what is so now, not what was published.
    told = json.loads(cli("waiting", "-n", namespace, "-o", "json").stdout)
    assert (told["cause"], told["source"], told["since"]) == ("label-mismatch", "computed", None)


def test_who_may_do_nothing_is_told_which_right_is_missing(cluster, namespace, cli, kubeconfig_for):
    laboratory.add_account(cluster, namespace, "nobody", [])
    done = cli("some-pod", kubeconfig=kubeconfig_for(namespace, "nobody"))
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert f"may not list pods in namespace {namespace}" in done.stderr
    assert "get and list on pods" in done.stderr

    done = cli("-A", kubeconfig=kubeconfig_for(namespace, "nobody"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "may not list pods (cluster-wide)" in done.stderr


def test_a_wrong_token_and_a_dead_address_are_one_line(cluster, tmp_path, cli):
    wrong = laboratory.write_kubeconfig(cluster, "wrong", tmp_path / "wrong")
    done = cli("pod", kubeconfig=wrong)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "the credentials are not accepted" in done.stderr

    unknown = tmp_path / "unknown"
    text = wrong.read_text().replace("certificate-authority:", "ignored:")
    unknown.write_text(text)
    done = cli("pod", kubeconfig=unknown)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "certificate verify failed" in done.stderr

    unknown.write_text(text.replace("ignored:", "insecure-skip-tls-verify: true\n    ignored:"))
    assert "the credentials are not accepted" in cli("pod", kubeconfig=unknown).stderr

    dead = laboratory.write_kubeconfig(
        cluster, "any", tmp_path / "dead", server="https://127.0.0.1:1"
    )
    done = cli("-A", kubeconfig=dead)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "https://127.0.0.1:1: no answer (" in done.stderr


def publish(cluster, namespace, pod, **words):
    """Annotate a pod as the operator does."""
    words["since"] = "2026-01-20T10:00:00Z"
    pairs = [f"gpu-triage.io/{key}={value}" for key, value in words.items()]
    cluster.kubectl("annotate", "pod", pod, "-n", namespace, *pairs)
