"""How the node's programs are told what to do, and what the API server is told besides.

Everything here is inside the namespaces, where the usual ports and folders are free.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from typing import TYPE_CHECKING

from tests.controlplane import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.controlplane.components import Layout

NODE_ADDRESS = "10.250.0.1"
"""On the bridge that inside.py makes."""
_API_SERVICE = "10.96.0.1"
_PODS = "10.244.0.0/24"
_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")


def apiserver(layout: Layout) -> list[str]:
    """Return the flags that let pods and kubelet in; most win over those for a lone API server."""
    return [
        "--bind-address=0.0.0.0",
        f"--advertise-address={NODE_ADDRESS}",
        "--endpoint-reconciler-type=lease",
        # Beside RBAC: this flag adds up.
        "--authorization-mode=Node",
        "--enable-admission-plugins=NodeRestriction",
        f"--kubelet-client-certificate={layout.directory / 'kubelet-client.crt'}",
        f"--kubelet-client-key={layout.directory / 'kubelet-client.key'}",
        # Names would be looked up, and there is no DNS.
        "--kubelet-preferred-address-types=InternalIP",
    ]


def kwok() -> list[str]:
    """Return the flags that keep KWOK's hands off the real node."""
    return [
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
    ]


def write_credentials(layout: Layout, node: str) -> None:
    """Write the certificates, and make the kubelet and kube-proxy users beside the admin.

    Raises:
        ControlPlaneError: openssl failed.
    """
    layout.certificates.mkdir()
    addresses = ("127.0.0.1", NODE_ADDRESS, _API_SERVICE)
    names = [f"DNS:{name}" for name in _NAMES] + [f"IP:{each}" for each in addresses]
    _certify(layout.certificates / "apiserver", "/CN=kube-apiserver", ",".join(names))
    # It vouches for itself: the kubelet trusts this one certificate and no authority.
    _certify(layout.directory / "kubelet-client", "/O=system:masters/CN=kubelet-client")
    users = {"node": (f"system:node:{node}", "system:nodes"), "proxy": ("system:kube-proxy", "")}
    with layout.tokens.open("a") as tokens:
        for file, (user, group) in users.items():
            token = secrets.token_urlsafe(24)
            tokens.write(f'{token},{user},{user},"{group}"\n')
            _write(layout.directory / f"{file}.kubeconfig", _kubeconfig(layout, token))


def containerd(directory: Path, sandbox: str) -> list[str]:
    """Write containerd's configuration (of 1.x) and return its command line."""
    (directory / "cni.d").mkdir()
    network = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": _PODS}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    _write(
        directory / "cni.d" / "pods.conflist",
        {"cniVersion": "1.0.0", "name": "pods", "plugins": [network]},
    )
    config = directory / "containerd.toml"
    # Without CAP_SYS_RESOURCE runc cannot lower oom_score_adj, and no container would start.
    config.write_text(f"""version = 2
[plugins.'io.containerd.internal.v1.opt']
  path = '/var/lib/containerd/opt'
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = '{sandbox}'
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.grpc.v1.cri'.cni]
  bin_dir = '/usr/lib/cni'
  conf_dir = '{directory / "cni.d"}'
""")
    return ["containerd", "--config", str(config)]


def kubelet(binary: Path, layout: Layout, node: str, cgroup: str) -> list[str]:
    """Write the kubelet's configuration and return its command line."""
    resolver = layout.directory / "resolv.conf"
    resolver.touch()
    config = layout.directory / "kubelet.json"
    _write(
        config,
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{cgroup}",
            # Refused by default since 1.35, and still what many machines have.
            "failCgroupV1": False,
            "failSwapOn": False,
            "seccompDefault": True,
            "volumePluginDir": str(layout.directory / "volume-plugins"),
            "resolvConf": str(resolver),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(layout.directory / "kubelet-client.crt")},
            },
            "authorization": {"mode": "Webhook"},
            # The machine's disk and memory are not this node's.
            "evictionHard": dict.fromkeys(
                (
                    "memory.available",
                    "nodefs.available",
                    "nodefs.inodesFree",
                    "imagefs.available",
                    "imagefs.inodesFree",
                ),
                "0%",
            ),
            "imageGCHighThresholdPercent": 100,
            # Changes are told within a second; what does not change is not written again.
            "nodeStatusUpdateFrequency": "1s",
            "nodeStatusReportFrequency": "5m",
        },
    )
    return [
        str(binary),
        f"--config={config}",
        f"--kubeconfig={layout.directory / 'node.kubeconfig'}",
        f"--hostname-override={node}",
        f"--node-ip={NODE_ADDRESS}",
    ]


def kube_proxy(binary: Path, layout: Layout, node: str) -> list[str]:
    """Write kube-proxy's configuration and return its command line."""
    config = layout.directory / "kube-proxy.json"
    _write(
        config,
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clusterCIDR": _PODS,
            "clientConnection": {"kubeconfig": str(layout.directory / "proxy.kubeconfig")},
            # 0 leaves the machine's limits alone.
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        },
    )
    return [str(binary), f"--config={config}", f"--hostname-override={node}"]


def _certify(path: Path, subject: str, names: str = "") -> None:
    """Write a key and a certificate that it signs itself."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "3650", "-subj", subject]
    command += ["-keyout", f"{path}.key", "-out", f"{path}.crt"]
    if names:
        command += ["-addext", f"subjectAltName={names}"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        raise ControlPlaneError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def _kubeconfig(layout: Layout, token: str) -> dict[str, object]:
    """Return a kubeconfig for a token."""
    authority = str(layout.certificates / "apiserver.crt")
    endpoint = {"server": layout.url, "certificate-authority": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "node",
        "contexts": [{"name": "node", "context": {"cluster": "node", "user": "node"}}],
        "clusters": [{"name": "node", "cluster": endpoint}],
        "users": [{"name": "node", "user": {"token": token}}],
    }


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Write a file as JSON, which every YAML reader takes; nobody else may read it."""
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))
