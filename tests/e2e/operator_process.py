"""The operator as a process of its own, with the rights that deploy/rbac gives it and no others."""

import contextlib
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.e2e import laboratory

ROOT = Path(__file__).parents[2]
RIGHTS = ROOT / "deploy" / "rbac"
NAMESPACE = ACCOUNT = "gpu-triage"
DOMAIN = "gpu-triage.io"
DONE_SECONDS = 5.0


class OperatorProcess:
    """One run of gpu-triage-operator after another, with the same kubeconfig and settings."""

    def __init__(self, kubeconfig, folder, **settings):
        """Describe it; settings are given in lower case without the prefix."""
        self.log = Path(folder) / f"operator-{os.urandom(4).hex()}.log"
        chosen = {"http_address": "127.0.0.1:0", **settings}
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "operator"),
            "KUBECONFIG": str(kubeconfig),
            **{f"GPU_TRIAGE_{name.upper()}": str(value) for name, value in chosen.items()},
        }
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gpu_triage.controller.main"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop(self):
        """End it as the kubelet would; return its exit code."""
        self.process.terminate()
        return self.process.wait(DONE_SECONDS)

    def exit_code(self):
        """Wait until it ends by itself; return its exit code."""
        return self.process.wait(30)

    def lines(self):
        """Return what it has logged, without the times."""
        return [line.partition(" ")[2] for line in self.log.read_text().splitlines()]

    @property
    def address(self):
        """HOST:PORT of its pages."""
        return re.findall(r"Serving .* address=(\S+)", self.log.read_text())[-1]

    def get(self, page):
        """Return status and text of one of its pages."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/{page}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def wait_ready(self, timeout=30.0):
        laboratory.wait_for(
            "the operator is ready",
            lambda: self.get("readyz")[0] == 200,
            timeout,
            seen=self.log.read_text,
        )

    def metric(self, line):
        """Return the value of a sample, as its name and labels are written."""
        found = re.findall(rf"^{re.escape(line)} (\S+)$", self.get("metrics")[1], re.MULTILINE)
        return float(found[0])


def give_rights(cluster):
    """Apply deploy/rbac as it is shipped."""
    cluster.kubectl("apply", "-f", str(RIGHTS))


def take_rights(cluster):
    """Remove what of deploy/rbac is no part of a namespace."""
    for kind in ("clusterrolebinding", "clusterrole"):
        cluster.kubectl("delete", kind, "gpu-triage", "--ignore-not-found")
    for name in ("gpu-triage-pods", "gpu-triage-events"):
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            cluster.kubectl("delete", kind, name, "--ignore-not-found")


def own_kubeconfig(cluster, folder):
    """Write a kubeconfig of the operator's own account; return its path."""
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE).strip()
    return laboratory.write_kubeconfig(cluster, token, Path(folder) / "kubeconfig")


@contextlib.contextmanager
def running_operator(cluster, folder, **settings):
    """The operator with the rights that are shipped; it is ready, and ends well in time."""
    give_rights(cluster)
    with OperatorProcess(own_kubeconfig(cluster, folder), folder, **settings) as running:
        running.wait_ready()
        yield running
        assert running.stop() == 0, running.log.read_text()
    take_rights(cluster)


def published(cluster, namespace, name):
    """Return the operator's annotations on a pod, without their domain."""
    annotations = laboratory.get_pod(cluster, namespace, name)["metadata"].get("annotations", {})
    return {
        key.removeprefix(f"{DOMAIN}/"): value
        for key, value in annotations.items()
        if key.startswith(f"{DOMAIN}/")
    }


def wait_for_word(cluster, namespace, name, word, timeout=20.0):
    """Wait until a pod carries CAUSE or CAUSE/DETAIL; return its annotations."""
    cause, _, detail = word.partition("/")

    def there():
        found = published(cluster, namespace, name)
        return found if found.get("cause") == cause and detail in ("", found["detail"]) else None

    return laboratory.wait_for(
        f"{namespace}/{name} says {word}",
        there,
        timeout,
        seen=lambda: published(cluster, namespace, name),
    )


def wait_until_bare(cluster, namespace, name):
    """Wait until nothing of the operator's is left on a pod."""
    laboratory.wait_for(
        f"{namespace}/{name} is bare", lambda: not published(cluster, namespace, name)
    )


class History:
    """Every state of the pods of a namespace, as a watcher sees it."""

    ANNOTATIONS = r".metadata.annotations.gpu-triage\.io"
    FIELDS = f'{{.metadata.name}} {{{ANNOTATIONS}/cause}}/{{{ANNOTATIONS}/detail}}{{"\\n"}}'

    def __init__(self, cluster, namespace, path):
        self._path = Path(path)
        self._command = [
            str(cluster.binaries["kubectl"]),
            f"--kubeconfig={cluster.kubeconfig}",
            *("get", "pods", "-n", namespace, "--watch", "-o", f"jsonpath={self.FIELDS}"),
        ]

    def __enter__(self):
        with self._path.open("wb") as out:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=out)
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def causes(self, name):
        """Return the causes that a pod carried, in order, each once in a row; "" for none."""
        causes = [word.partition("/")[0] for word in self.words(name)]
        return [cause for at, cause in enumerate(causes) if causes[at - 1 : at] != [cause]]

    def words(self, name):
        """Return the same with their details: CAUSE/DETAIL."""
        found = []
        for line in self._path.read_text().splitlines():
            pod, _, word = line.partition(" ")
            word = word.strip("/")
            if pod == name and found[-1:] != [word]:
                found.append(word)
        return found
