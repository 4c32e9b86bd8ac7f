"""See gpu-triage installed by Helm on a real node, watch GPUs break, and remove it again.

    make demo IN_CLUSTER=1           stays before the end, so that you can go on by hand
    make demo IN_CLUSTER=1 ONCE=1    ends by itself

The node is real: a kubelet, containerd, and pods that run. Only the GPUs are not there: a device
plugin of ours tells the kubelet of two. Needs root, and no container engine.
"""

import contextlib
import shlex
import signal
import sys
import time

from tests.e2e import laboratory
from tests.e2e.operator_process import published, wait_for_word, wait_until_bare
from tests.incluster import NODE, NodeCluster
from tests.incluster.gpus import DEVICE_PLUGIN, devices, pod
from tests.incluster.release import NAME, NAMESPACE, Release

from examples.screen import BIN, FAINT, PLAIN, demonstrate, kubectl, say, step

TEAM = "team-a"
SECONDS = 120.0


def demo(stay: bool) -> None:
    """All of it."""
    step("A cluster with one real node (from nothing: minutes for its programs and images)")
    with NodeCluster() as cluster:
        release = Release(cluster, nodeStartingSeconds=0, restlessSeconds=2)
        install(cluster, release)
        use(cluster)
        break_devices(cluster)
        break_plugin(cluster)
        mend(cluster)
        if stay:
            go_on(cluster)
        remove(cluster, release)


def install(cluster: NodeCluster, release: Release) -> None:
    """One command, in a namespace that takes only pods with few rights."""
    kubectl(cluster, "get", "nodes", "-o", "wide")
    step("Install it, where Pod Security takes nothing but restricted pods")
    print(
        f"{FAINT}$ kubectl create namespace {NAMESPACE}\n"
        f"$ kubectl label namespace {NAMESPACE} pod-security.kubernetes.io/enforce=restricted\n"
        f"$ helm install {NAME} deploy/helm -n {NAMESPACE} --wait \\\n"
        f"    --set image.repository={release.values['image']['repository']},"
        f"image.tag={release.values['image']['tag']},"
        f"settings.nodeStartingSeconds=0,settings.restlessSeconds=2{PLAIN}",
        flush=True,
    )
    release.make_namespace()
    begun = time.monotonic()
    print(release.install())
    say(f"Ready {time.monotonic() - begun:.1f} s after the command, with the image there.")
    kubectl(cluster, "get", "pods", "-n", NAMESPACE)


def use(cluster: NodeCluster) -> None:
    """Two pods want GPUs, and one of them must wait: the ordinary case."""
    step("A device plugin offers two GPUs, and two pods want them")
    kubectl(cluster, "apply", "-f", str(DEVICE_PLUGIN.relative_to(laboratory.ROOT)))
    laboratory.wait_for("two devices", lambda: devices(cluster) == ("2", "2"), SECONDS)
    kubectl(cluster, "create", "namespace", TEAM)
    laboratory.wait_for_account(cluster, TEAM)
    laboratory.apply(cluster, pod(TEAM, "train", 2))
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, TEAM, "train"), SECONDS)
    laboratory.apply(cluster, pod(TEAM, "notebook", 1))
    said(cluster, "exhausted")
    kubectl(cluster, "get", "pods", "-n", TEAM)
    step("Why does notebook wait? Where you look anyway")
    laboratory.wait_for(
        "the Event is there",
        lambda: "GPUExhausted" in cluster.kubectl("describe", "pod", "notebook", "-n", TEAM),
        SECONDS,
    )
    kubectl(cluster, "describe", "pod", "notebook", "-n", TEAM)


def break_devices(cluster: NodeCluster) -> None:
    """Devices fall ill: capacity stays, allocatable goes."""
    step("Both devices fall ill, as after an Xid error")
    kubectl(
        cluster,
        *("exec", "-n", "kube-system", "daemonset/device-plugin", "--"),
        *("/device-plugin", "-sick=2"),
    )
    said(cluster, "allocatable-zero/all-unhealthy")
    show(cluster)


def break_plugin(cluster: NodeCluster) -> None:
    """The plugin goes, and the kubelet forgets its devices."""
    step("Somebody removes the device plugin, and the node's kubelet is restarted")
    kubectl(cluster, "delete", "-f", str(DEVICE_PLUGIN.relative_to(laboratory.ROOT)), "--wait")
    print(f"{FAINT}$ systemctl restart kubelet   # on {NODE}{PLAIN}\n", flush=True)
    if cluster.kubelet is not None:
        cluster.kubelet.restart()
    said(cluster, "allocatable-zero/plugin-gone")
    show(cluster)


def mend(cluster: NodeCluster) -> None:
    """All is well again, and nothing of ours stays on a pod that runs."""
    step("The plugin is back, and train is done")
    kubectl(cluster, "apply", "-f", str(DEVICE_PLUGIN.relative_to(laboratory.ROOT)))
    said(cluster, "exhausted")
    kubectl(cluster, "delete", "pod", "train", "-n", TEAM, "--wait")
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, TEAM, "notebook"), SECONDS)
    wait_until_bare(cluster, TEAM, "notebook")
    show(cluster)
    say("notebook runs, and its annotations are gone.")


def remove(cluster: NodeCluster, release: Release) -> None:
    """Uninstalled, it takes its annotations along."""
    step("Remove it while a pod waits: its annotations go with it")
    laboratory.apply(cluster, pod(TEAM, "large", 8))
    laboratory.wait_for("its cause", lambda: published(cluster, TEAM, "large"), SECONDS)
    show(cluster)
    print(f"{FAINT}$ helm uninstall {NAME} -n {NAMESPACE} --wait{PLAIN}", flush=True)
    print(release.uninstall(), flush=True)
    show(cluster)


def go_on(cluster: NodeCluster) -> None:
    """How to go on by hand, until Ctrl-C."""
    tools = [cluster.binaries[name].parent for name in ("kubectl", "helm")]
    path = ":".join(shlex.quote(str(folder)) for folder in (BIN, *dict.fromkeys(tools)))
    step("Go on by hand, in another terminal; Ctrl-C here goes on to the end: helm uninstall")
    print(
        f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))} PATH={path}:$PATH\n"
        f"kubectl exec -n kube-system daemonset/device-plugin -- /device-plugin -sick 1\n"
        f"gpu-triage --nodes\n"
        f"kubectl logs -n {NAMESPACE} deployment/{NAME}\n"
        f"kubectl get --raw /api/v1/namespaces/{NAMESPACE}/services/{NAME}:http/proxy/metrics\n"
        f"helm upgrade {NAME} deploy/helm -n {NAMESPACE} --reuse-values"
        " --set settings.logLevel=debug",
        flush=True,
    )
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            signal.pause()


def said(cluster: NodeCluster, word: str) -> None:
    """Wait until notebook carries a word."""
    wait_for_word(cluster, TEAM, "notebook", word, SECONDS)


def show(cluster: NodeCluster) -> None:
    """What the node offers and what the pods say."""
    amounts = r"status.%s.nvidia\.com/gpu"
    columns = f"NODE:.metadata.name,CAPACITY:{amounts},ALLOCATABLE:{amounts}"
    kubectl(
        cluster,
        *("get", "node", NODE, "-o", f"custom-columns={columns % ('capacity', 'allocatable')}"),
    )
    keys = [
        rf"{key.upper()}:.metadata.annotations.gpu-triage\.io/{key}" for key in ("cause", "detail")
    ]
    columns = ",".join(["POD:.metadata.name", "PHASE:.status.phase", *keys])
    kubectl(cluster, "get", "pods", "-n", TEAM, "-o", f"custom-columns={columns}")


if __name__ == "__main__":
    sys.exit(demonstrate("make demo IN_CLUSTER=1", __doc__, demo))
