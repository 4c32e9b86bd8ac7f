"""How each server of our own control plane is told what to do.

Everything listens on 127.0.0.1. What a server reads from a file is written as JSON, which every
YAML reader takes.
"""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .processes import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Mode = Literal["alive", "still"]
"""alive: nodes get Ready and bound pods run. still: what a test writes stays as it is written."""

# With these on, the API server changes or refuses what a test of the scheduler wants stored as it
# is: taints on nodes nobody made ready, tolerations nobody wrote, pods of missing classes.
_MEDDLING_ADMISSION = (
    "ServiceAccount",
    "TaintNodesByCondition",
    "DefaultTolerationSeconds",
    "RuntimeClass",
    "Priority",
)
# The scheduler's default of 50 requests a second is what limits a test that asks it thousands of
# questions.
_STILL_QPS = 5000


@dataclass(frozen=True)
class Layout:
    """Files and ports that the servers of one run share."""

    directory: Path
    etcd_port: int
    apiserver_port: int

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self.apiserver_port}"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def certificates(self) -> Path:
        """Folder where the API server puts its self-signed certificate."""
        return self.directory / "apiserver"

    @property
    def ca_file(self) -> Path:
        """Certificate of the authority that signed the API server's."""
        return self.directory / "ca.crt"

    @property
    def key(self) -> Path:
        """Key that signs the tokens of ServiceAccounts."""
        return self.directory / "service-account.key"

    @property
    def tokens(self) -> Path:
        """Users that the API server knows from the start: the admin."""
        return self.directory / "tokens.csv"

    @property
    def scheduler_config(self) -> Path:
        """KubeSchedulerConfiguration."""
        return self.directory / "scheduler.json"


def etcd(layout: Layout) -> list[str]:
    """Return etcd's arguments. Its data dies with the run, so it need not reach the disk."""
    url = f"http://127.0.0.1:{layout.etcd_port}"
    return [
        f"--data-dir={layout.directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--log-level=error",
    ]


def apiserver(layout: Layout, mode: Mode, event_ttl: str) -> list[str]:
    """Return the API server's arguments."""
    arguments = [
        f"--etcd-servers=http://127.0.0.1:{layout.etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.apiserver_port}",
        f"--cert-dir={layout.certificates}",
        # Endpoints may not hold a loopback address, and nobody here uses the Service "kubernetes".
        "--endpoint-reconciler-type=none",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.key}",
        f"--service-account-signing-key-file={layout.key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        f"--event-ttl={event_ttl}",
    ]
    if mode == "still":
        arguments += [
            f"--disable-admission-plugins={','.join(_MEDDLING_ADMISSION)}",
            "--delete-collection-workers=16",
        ]
    return arguments


def scheduler(layout: Layout) -> list[str]:
    """Return the scheduler's arguments; port 0 is no port."""
    return [f"--config={layout.scheduler_config}", "--secure-port=0"]


def controller_manager(layout: Layout) -> list[str]:
    """Return the controller manager's arguments."""
    return [
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={layout.key}",
        # It creates this folder; the default is in /usr and would stay behind.
        f"--flex-volume-plugin-dir={layout.directory / 'volume-plugins'}",
    ]


def kwok(kubeconfig: Path, stages: Path, *, all_nodes: bool) -> list[str]:
    """Return KWOK's arguments.

    Args:
        kubeconfig: The cluster whose nodes it plays.
        stages: What it does to nodes and pods.
        all_nodes: Whether every node is its own; if not, only those with the annotation
            `kwok.x-k8s.io/node: fake`, so that it keeps its hands off real ones.
    """
    return [
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes=true"
        if all_nodes
        else "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        f"--config={stages}",
        # No kubelet port: two control planes on one machine would fight for it.
        "--node-port=0",
        "--server-address=",
    ]


def write_secrets(layout: Layout, token: str) -> None:
    """Write the key of ServiceAccount tokens and the admin's token.

    Raises:
        ControlPlaneError: openssl is missing or failed.
    """
    command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"]
    try:
        done = subprocess.run(
            [*command, "-out", str(layout.key)], capture_output=True, check=False, text=True
        )
    except FileNotFoundError:
        raise ControlPlaneError(
            "no openssl on the PATH, and the API server needs a key for the tokens of "
            "ServiceAccounts: install the package openssl"
        ) from None
    if done.returncode:
        raise ControlPlaneError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    layout.tokens.write_text(f"{token},admin,admin,system:masters\n")


def write_scheduler_config(layout: Layout, mode: Mode, profiles: Sequence[str]) -> None:
    """Write the scheduler's configuration, with a fast client in still mode.

    Args:
        layout: Where its kubeconfig is, and where the configuration goes.
        mode: What happens to nodes and pods.
        profiles: Names of the schedulers that this one process is, all with the default plugins.
    """
    connection: dict[str, object] = {"kubeconfig": str(layout.kubeconfig)}
    if mode == "still":
        connection |= {"qps": _STILL_QPS, "burst": 2 * _STILL_QPS}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": connection,
        "profiles": [{"schedulerName": name} for name in profiles],
    }
    layout.scheduler_config.write_text(json.dumps(config, indent=2))


def write_ca(layout: Layout) -> None:
    """Write the authority's certificate alone.

    The API server's own file holds its certificate and the authority's. As a list of trusted
    authorities the whole file works for clients, but controllers that publish it are refused.
    """
    served = (layout.certificates / "apiserver.crt").read_text()
    mark = "-----BEGIN CERTIFICATE-----"
    layout.ca_file.write_text(mark + served.split(mark)[-1])


def write_kubeconfig(layout: Layout, token: str) -> None:
    """Write the admin's kubeconfig with everything in it, so that it can be copied anywhere."""
    name = "gpu-triage"
    authority = base64.b64encode(layout.ca_file.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
        "clusters": [
            {
                "name": name,
                "cluster": {"server": layout.url, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    layout.kubeconfig.touch(mode=0o600)
    layout.kubeconfig.write_text(json.dumps(config, indent=2))


def command(binary: Path, arguments: Sequence[str], extra: Sequence[str]) -> list[str]:
    """Return a whole command line; of two equal flags the later one wins, so `extra` is last."""
    return [str(binary), *arguments, *extra]
