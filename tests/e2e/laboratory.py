"""What the end-to-end tests do with a real cluster: nodes, accounts with few rights, the lab."""

import json
import time
from pathlib import Path

import yaml

from tests import builders
from tests.controlplane import ControlPlaneError

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "examples" / "lab-manifests.yaml"
KWOK = {"kwok.x-k8s.io/node": "fake"}
LAB = "gpu-triage"
LAB_WORDS = {
    "case-ok": "ok",
    "case-nogpunode": "no-gpu-node",
    "case-alloc0": "allocatable-zero",
    "case-taint": "taint",
    "case-label": "label-mismatch",
    "case-exhaust": "exhausted",
    "case-norequest": "no-request",
}


def wait_for(what, condition, timeout=30.0, seen=None):
    """Poll until `condition()` is true and return what it returned.

    Args:
        what: the fact that is waited for; the failure says it.
        condition: called every 0.1 s; a KeyError or a failing kubectl counts as "not yet".
        timeout: seconds.
        seen: called on failure; what it returns is shown.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            if result := condition():
                return result
            last = ""
        except (ControlPlaneError, LookupError, OSError) as error:
            last = f" ({type(error).__name__}: {error})"
        if time.monotonic() > deadline:
            shown = f"\n{seen()}" if seen else ""
            raise AssertionError(f"after {timeout:.0f} s not yet: {what}{last}{shown}")
        time.sleep(0.1)


def apply(cluster, *objects):
    """Apply objects, in this order."""
    listing = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(listing))


def get_pod(cluster, namespace, name):
    """Return a pod as the API server has it."""
    return json.loads(cluster.kubectl("get", "pod", name, "-n", namespace, "-o", "json"))


def condition(item, kind):
    """Return a condition of a node or pod; {} if it has none of this type."""
    conditions = item.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def placed(cluster, namespace, name):
    """Return the node that a pod is on and runs on; "" while it does not."""
    pod = get_pod(cluster, namespace, name)
    return pod["spec"].get("nodeName", "") if pod["status"].get("phase") == "Running" else ""


def tried(cluster, namespace, name):
    """Return the scheduler's text about a pod that it could not place; "" before that."""
    scheduled = condition(get_pod(cluster, namespace, name), "PodScheduled")
    return scheduled.get("message", "") if scheduled.get("reason") == "Unschedulable" else ""


def patch_status(cluster, name, **amounts):
    """Change `capacity` and `allocatable` of a node: {resource: text, or None to remove it}."""
    patch = json.dumps({"status": amounts})
    cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", patch)


def is_ready(cluster, name):
    """Tell whether a node is Ready and the taint of a node that is not has gone."""
    node = json.loads(cluster.kubectl("get", "node", name, "-o", "json"))
    starting = any(t["key"].startswith("node.k") for t in node["spec"].get("taints", ()))
    return condition(node, "Ready").get("status") == "True" and not starting


def add_node(cluster, name, gpus=8, **rest):
    """Create a node (see builders.node), wait until it is Ready, and set its status as asked."""
    annotations = {**KWOK, **(rest.pop("annotations", None) or {})}
    node = builders.node(name, gpus, annotations=annotations, **rest)
    cordoned = node["spec"].pop("unschedulable", False)
    apply(cluster, node)
    wait_for(f"node {name} is Ready", lambda: is_ready(cluster, name))
    status = node["status"]
    patch_status(cluster, name, capacity=status["capacity"], allocatable=status["allocatable"])
    if cordoned:
        cluster.kubectl("cordon", name)


def add_namespace(cluster, name):
    """Create a namespace and wait until pods can be made in it."""
    cluster.kubectl("create", "namespace", name)
    wait_for_account(cluster, name)


def wait_for_account(cluster, name):
    """Wait until a namespace has its service account, without which it takes no pods."""
    wait_for(
        f"namespace {name} has its service account",
        lambda: cluster.kubectl("get", "serviceaccount", "default", "-n", name),
    )


def add_account(cluster, namespace, name, rules, *, everywhere=False):
    """Create a service account with these rights (RBAC rules), in its namespace or everywhere."""
    kind = "ClusterRole" if everywhere else "Role"
    meta = {"name": f"{namespace}-{name}"} if everywhere else {"name": name, "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    apply(
        cluster,
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        },
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": kind, "name": meta["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
    )


def write_kubeconfig(cluster, token, path, *, namespace="default", server=None, token_file=None):
    """Write a kubeconfig for a token, or for a file that holds one; return its path."""
    endpoint = {"server": server or cluster.url}
    if cluster.ca_file is None:
        endpoint["insecure-skip-tls-verify"] = True
    else:
        endpoint["certificate-authority"] = str(cluster.ca_file)
    user = {"tokenFile": str(token_file)} if token_file else {"token": token}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": endpoint}],
        "users": [{"name": "test", "user": user}],
        "contexts": [
            {"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}
        ],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


def lay_lab(cluster):
    """Lay the lab (examples/lab-manifests.yaml); wait until the scheduler has tried every pod."""
    cluster.kubectl("apply", "-f", str(MANIFESTS), "-l", "lab=base")
    wait_for_account(cluster, LAB)
    for number in range(3):
        name = f"lab-node-{number}"
        wait_for(f"node {name} is Ready", lambda name=name: is_ready(cluster, name))
    cluster.kubectl("apply", "-f", str(MANIFESTS), "-l", "lab=first")
    wait_for("case-ok runs", lambda: placed(cluster, LAB, "case-ok"))
    cluster.kubectl("apply", "-f", str(MANIFESTS))
    for pod, word in LAB_WORDS.items():
        settled = placed if word in ("ok", "no-request") else tried
        wait_for(f"{pod} is tried", lambda pod=pod, f=settled: f(cluster, LAB, pod))


def clear_namespace(cluster, name, *, wait=False):
    """Delete a namespace; its pods at once, for no kubelet may be left to end them."""
    cluster.kubectl("delete", "pods", "--all", "-n", name, "--grace-period=0", "--force")
    cluster.kubectl(
        "delete", "namespace", name, "--ignore-not-found", f"--wait={str(wait).lower()}"
    )


def clear_lab(cluster):
    """Remove the lab and wait until it is gone."""
    clear_namespace(cluster, LAB, wait=True)
    cluster.kubectl("delete", "nodes", "-l", "lab=base", "--ignore-not-found")
