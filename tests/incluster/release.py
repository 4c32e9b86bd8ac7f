"""The operator as people install it: by Helm, into a namespace of its own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.chart.helm import CHART, Helm, HelmError
from tests.controlplane import ControlPlaneError
from tests.e2e import laboratory

from .cluster import NODE
from .images import OPERATOR

if TYPE_CHECKING:
    from .cluster import NodeCluster

NAME = "gpu-triage"
NAMESPACE = "gpu-triage-system"


class Release:
    """One installation."""

    def __init__(self, cluster: NodeCluster, **settings: object) -> None:
        """Describe it.

        Args:
            cluster: Where.
            settings: Values under `settings`.
        """
        self.cluster = cluster
        self._helm = Helm(cluster.directory, cluster.kubeconfig)
        repository, _, tag = OPERATOR.rpartition(":")
        self.values: dict[str, Any] = {
            "image": {"repository": repository, "tag": tag},
            # On the one node that is real: on the others it would only seem to run.
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "settings": settings,
        }

    def make_namespace(self) -> None:
        """Make the namespace as a careful administrator does: Pod Security `restricted`."""
        self.cluster.kubectl("create", "namespace", NAMESPACE)
        self.cluster.kubectl(
            *("label", "namespace", NAMESPACE),
            "pod-security.kubernetes.io/enforce=restricted",
        )

    def install(self) -> str:
        """Install it and wait until it is ready; return what Helm says."""
        return self.helm("install", NAME, str(CHART), "--wait", "--timeout=180s")

    def upgrade(self, **settings: object) -> str:
        """Change settings and wait until that is done; return what Helm says."""
        self.values["settings"] = {**self.values["settings"], **settings}
        return self.helm("upgrade", NAME, str(CHART), "--wait", "--timeout=180s")

    def uninstall(self) -> str:
        """Remove it and wait until that is done; return what Helm says."""
        return self.helm("uninstall", NAME, "--wait", "--timeout=180s")

    def helm(self, *arguments: str) -> str:
        """Run helm in the release's namespace and return its output.

        Raises:
            ControlPlaneError: It failed; the message shows the namespace.
        """
        values = None if arguments[0] == "uninstall" else self.values
        try:
            return self._helm.run(*arguments, f"--namespace={NAMESPACE}", values=values)
        except HelmError as error:
            command = " ".join(arguments)
            raise ControlPlaneError(f"`helm {command}`: {error}\n{self.state()}") from None

    def pod(self) -> dict[str, Any]:
        """Return the operator's pod.

        Raises:
            LookupError: There is none, or more than one.
        """
        selector = f"--selector=app.kubernetes.io/instance={NAME}"
        found = self.cluster.kubectl("get", "pods", f"--namespace={NAMESPACE}", selector, "-ojson")
        pods: list[dict[str, Any]] = json.loads(found)["items"]
        if len(pods) != 1:
            raise LookupError(f"{len(pods)} operator pods")
        return pods[0]

    def is_ready(self) -> bool:
        """Tell whether there is one pod, and it is Ready."""
        return laboratory.condition(self.pod(), "Ready").get("status") == "True"

    def log(self) -> str:
        """Return the log of the operator's present container."""
        return self.cluster.kubectl(f"--namespace={NAMESPACE}", "logs", f"deployment/{NAME}")

    def python(self, code: str) -> str:
        """Run a line of Python in the operator's container and return its output."""
        return self.cluster.kubectl(
            *(f"--namespace={NAMESPACE}", "exec", f"deployment/{NAME}", "--"),
            *("/opt/venv/bin/python3", "-c", code),
        )

    def peak_mebibytes(self) -> float:
        """Return the most memory that the operator's process has held."""
        code = "print(*(l.split()[1] for l in open('/proc/1/status') if l.startswith('VmHWM')))"
        return int(self.python(code)) / 1024

    def metric(self, sample: str) -> float:
        """Return the value of a sample, asked of the Service; name and labels as it is written.

        Raises:
            LookupError: There is no such sample.
        """
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{NAME}:http/proxy/metrics"
        text = self.cluster.kubectl("get", "--raw", path)
        found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
        if found is None:
            raise LookupError(f"no sample {sample}")
        return float(found[1])

    def state(self) -> str:
        """Describe what is in the namespace, for whoever reads a failure."""
        scope = f"--namespace={NAMESPACE}"
        return "\n".join(
            self.cluster.kubectl(*arguments, scope, check=False)
            for arguments in (
                ("describe", "pods"),
                ("get", "events"),
                ("logs", f"deployment/{NAME}", "--tail=30"),
            )
        )
