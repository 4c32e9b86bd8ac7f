"""One real control plane for all end-to-end tests, and what each test gets on it."""

import os
import subprocess
import sys
import uuid

import pytest

from tests.controlplane import open_cluster
from tests.e2e import laboratory

START = "import sys; sys.argv[0] = 'gpu-triage'; from gpu_triage.cli.main import main; main()"


@pytest.fixture(scope="session")
def cluster():
    """The cluster that the environment asks for (by default the own control plane), mode alive."""
    with open_cluster("alive") as opened:
        yield opened


@pytest.fixture
def namespace(cluster):
    """The name of a fresh namespace; it is deleted afterwards."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    laboratory.add_namespace(cluster, name)
    yield name
    laboratory.clear_namespace(cluster, name)


@pytest.fixture
def add_node(cluster):
    """A function that makes a node of this test's own and returns its name.

    Takes what builders.node takes except the name. Its kubernetes.io/hostname is its name: select
    it by that.
    """
    names = []

    def add(gpus=8, **rest):
        name = f"test-node-{uuid.uuid4().hex[:8]}"
        names.append(name)
        laboratory.add_node(cluster, name, gpus, **rest)
        return name

    yield add
    if names:
        cluster.kubectl("delete", "node", *names, "--ignore-not-found")


@pytest.fixture
def token_for(cluster):
    """A function (namespace, service account) that asks the TokenRequest API for a token."""

    def token(namespace, account):
        return cluster.kubectl("create", "token", account, "-n", namespace).strip()

    return token


@pytest.fixture
def kubeconfig_for(cluster, token_for, tmp_path):
    """A function (namespace, service account, server=None) that returns a kubeconfig's path."""

    def kubeconfig(namespace, account, server=None):
        return laboratory.write_kubeconfig(
            cluster,
            token_for(namespace, account),
            tmp_path / f"{account}.kubeconfig",
            namespace=namespace,
            server=server,
        )

    return kubeconfig


@pytest.fixture
def cli(cluster):
    """A function that runs the command as its own process, as the admin or by a kubeconfig."""

    def run(*arguments, kubeconfig=None, stdin=None):
        environment = {
            **os.environ,
            "PYTHONPATH": str(laboratory.ROOT / "operator"),
            "KUBECONFIG": str(kubeconfig or cluster.kubeconfig),
        }
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", START, *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def lab(cluster):
    """The lab, laid: its namespace's name. Case-ok runs, the scheduler has tried the others."""
    laboratory.lay_lab(cluster)
    yield laboratory.LAB
    laboratory.clear_lab(cluster)
