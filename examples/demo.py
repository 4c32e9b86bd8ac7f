"""See gpu-triage do its main job: from files at once, then on a real control plane.

    make demo            stays until Ctrl-C, so that you can go on by hand
    make demo ONCE=1     ends by itself

Nothing is faked but the machines: the API server, scheduler and controllers are Kubernetes' own,
the nodes are played by KWOK.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator

from tests.controlplane import Cluster, ControlPlaneError, open_cluster
from tests.e2e import laboratory

from examples.screen import BIN, FAINT, PLAIN, ROOT, demonstrate, gpu_triage, kubectl, say, step

LAB = laboratory.LAB
CAUSE = "gpu-triage.io/cause"


def demo(stay: bool) -> None:
    """All of it; the control plane is built while the files are looked at."""
    with building() as built:
        from_files()
        built()
    on_a_cluster(stay)


def from_files() -> None:
    """The answer without a cluster, while the control plane is still being built."""
    step("Seven pods in one lab, none of your cluster: the answer from a file")
    gpu_triage("-f", "examples/lab.yaml", "-n", LAB)
    gpu_triage("-f", "examples/lab.yaml", LAB, "case-taint")


def on_a_cluster(stay: bool) -> None:
    """The same on a real API server, with the operator at work."""
    step("A real control plane, and the lab on it")
    with open_cluster("alive") as cluster:
        laboratory.lay_lab(cluster)
        with operator(cluster) as address:
            look(cluster, address)
            change(cluster)
            if stay:
                go_on(cluster, address)
                while True:
                    signal.pause()


def look(cluster: Cluster, address: str) -> None:
    """What a person would look at, in the order of the looking."""
    kubectl(cluster, "get", "nodes,pods", "-n", LAB)
    step("What the scheduler says: the same sentence for three different causes")
    for pod in ("case-nogpunode", "case-alloc0", "case-exhaust"):
        said, _, preemption = laboratory.tried(cluster, LAB, pod).partition(" preemption:")
        print(f"{pod:16}{said}{' …' if preemption else ''}")
    step("What gpu-triage says, where people already look")
    waiting = [
        pod for pod, word in laboratory.LAB_WORDS.items() if word not in ("ok", "no-request")
    ]
    for pod in waiting:
        laboratory.wait_for(
            f"the cause stands on {pod}",
            lambda pod=pod: annotation(cluster, pod) and has_event(cluster, pod),
        )
    kubectl(cluster, "describe", "pod", "case-alloc0", "-n", LAB)
    columns = f"POD:.metadata.name,CAUSE:.metadata.annotations.{CAUSE.replace('.', chr(92) + '.')}"
    kubectl(cluster, "get", "pods", "-n", LAB, "-o", f"custom-columns={columns}")
    step("The command line, under your own rights")
    gpu_triage("-n", LAB, cluster=cluster)
    say("(lab-node-1 is seconds old: until it is 15 minutes old, it counts as starting.)")
    gpu_triage(LAB, "case-taint", "--explain", cluster=cluster)
    step("The metrics by cause")
    shown = "grep -E '^gpu_triage_(pending|gpus)' | grep -v ' 0.0$'"
    print(f"{FAINT}$ curl -s http://{address}/metrics | {shown}{PLAIN}")
    for line in metrics(address):
        print(line)


def change(cluster: Cluster) -> None:
    """The node gets its GPUs back: the pod is placed and its annotation goes."""
    step("lab-node-2 gets its GPUs back")
    patch = json.dumps({"status": {"allocatable": {"nvidia.com/gpu": "4"}}})
    kubectl(
        cluster, "patch", "node", "lab-node-2", "--subresource=status", "--type=merge", "-p", patch
    )
    began = time.monotonic()
    laboratory.wait_for("case-alloc0 runs", lambda: laboratory.placed(cluster, LAB, "case-alloc0"))
    laboratory.wait_for("its annotation goes", lambda: not annotation(cluster, "case-alloc0"))
    kubectl(cluster, "get", "pod", "case-alloc0", "-n", LAB, "-o", "wide")
    print(f"Placed, and its annotation gone, {time.monotonic() - began:.1f} s after the change.")


def go_on(cluster: Cluster, address: str) -> None:
    """How to go on by hand."""
    tool = shlex.quote(str(cluster.binaries["kubectl"]))
    kubeconfig = shlex.quote(str(cluster.kubeconfig))
    step("Go on by hand, in another terminal; Ctrl-C here ends everything")
    print(
        f"export KUBECONFIG={kubeconfig} PATH={shlex.quote(str(BIN))}:$PATH\n"
        f"alias kubectl={tool}\n"
        f"kubectl label node lab-node-1 nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB"
        f"  # case-label gets another word\n"
        f"kubectl delete pod case-ok -n {LAB}  # case-exhaust is placed\n"
        f"kubectl cordon lab-node-1; gpu-triage {LAB} case-nogpunode --explain\n"
        f"gpu-triage --nodes\n"
        f"curl -s http://{address}/metrics"
    )


@contextlib.contextmanager
def building() -> Iterator[object]:
    """Builds the control plane in the background; the function that it yields waits for the end."""
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "tests.controlplane", "--build-only"]
        with subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as build:

            def finish() -> None:
                shown = 0
                while True:
                    ended = build.poll() is not None
                    log.seek(shown)
                    print(text := log.read(), end="", flush=True)
                    shown += len(text.encode())
                    if ended:
                        break
                    time.sleep(0.2)
                if build.returncode:
                    raise ControlPlaneError("the control plane could not be built (see above)")

            try:
                yield finish
            finally:
                build.terminate()


@contextlib.contextmanager
def operator(cluster: Cluster) -> Iterator[str]:
    """The operator with the rights of deploy/rbac and no more; yields HOST:PORT of its metrics."""
    step("The operator, with the rights of deploy/rbac and no more")
    kubectl(cluster, "apply", "-f", "deploy/rbac")
    token = cluster.kubectl("create", "token", "gpu-triage", "-n", LAB).strip()
    kubeconfig = laboratory.write_kubeconfig(
        cluster, token, cluster.directory / "operator.kubeconfig"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPU_TRIAGE_")},
        "KUBECONFIG": str(kubeconfig),
        "GPU_TRIAGE_HTTP_ADDRESS": "127.0.0.1:0",
    }
    print(f"{FAINT}$ gpu-triage-operator{PLAIN}")
    with subprocess.Popen(
        [BIN / "gpu-triage-operator"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()), daemon=True)
        reader.start()
        try:
            found = laboratory.wait_for(
                "the operator serves its metrics",
                lambda: next((m for line in list(lines) if (m := _ADDRESS.search(line))), None),
                seen=lambda: "".join(lines),
            )
            yield found[1]
        finally:
            process.terminate()
            process.wait(10)


_ADDRESS = re.compile(r"Serving .*address=(127\.0\.0\.1:\d+)")


def annotation(cluster: Cluster, pod: str) -> str:
    """The cause that stands on a pod of the lab."""
    found = laboratory.get_pod(cluster, LAB, pod)["metadata"].get("annotations") or {}
    return str(found.get(CAUSE, ""))


def has_event(cluster: Cluster, pod: str) -> bool:
    """Whether the cause's Event is there too."""
    listed = cluster.kubectl(
        "get", "events", "-n", LAB, "--field-selector", f"involvedObject.name={pod}"
    )
    return "GPU" in listed


def metrics(address: str) -> list[str]:
    """The operator's gauges by cause that are not 0."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return [
        line
        for line in lines
        if line.startswith(("gpu_triage_pending", "gpu_triage_gpus")) and not line.endswith(" 0.0")
    ]


if __name__ == "__main__":
    sys.exit(demonstrate("make demo", __doc__, demo))
