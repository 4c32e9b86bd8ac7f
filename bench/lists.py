"""Lists that a real API server answers while the operator runs: `python -m bench.lists [MINUTES]`.

Starts the tests' control plane, lays the lab, runs the operator beside it, and counts by the API
server's own metric how often anybody has listed pods, nodes or namespaces of the whole cluster
since the operator was ready.
"""

import re
import sys
import tempfile
import time

from tests.controlplane import open_cluster
from tests.e2e import laboratory
from tests.e2e.operator_process import OperatorProcess, give_rights, own_kubeconfig

KINDS = ("pods", "nodes", "namespaces", "deviceclasses")


def lists(metrics: str) -> dict[str, float]:
    """How many lists of whole kinds there have been, from the text of the API server's metrics."""
    counts = dict.fromkeys(KINDS, 0.0)
    for labels, value in re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", metrics, re.M):
        found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        kind = found["resource"]
        if found["verb"] == "LIST" and found["scope"] == "cluster" and kind in counts:
            counts[kind] += float(value)
    return counts


def main() -> None:
    """Run and print."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    with open_cluster("alive") as cluster, tempfile.TemporaryDirectory() as folder:
        give_rights(cluster)
        laboratory.lay_lab(cluster)
        with OperatorProcess(own_kubeconfig(cluster, folder), folder) as operator:
            operator.wait_ready()
            before = lists(cluster.kubectl("get", "--raw", "/metrics"))
            time.sleep(60 * minutes)
            after = lists(cluster.kubectl("get", "--raw", "/metrics"))
            assert operator.stop() == 0
    for kind in KINDS:
        print(
            f"{kind}: {before[kind]:.0f} lists until ready, {after[kind] - before[kind]:.0f} in"
            f" the {minutes:g} minutes after"
        )


if __name__ == "__main__":
    main()
