"""How long the text for one pod takes on a large cluster: `python -m bench.text [NODES]`.

Each row is a pod that waits for another reason, on nodes that are tainted by half and full;
sentence and fix are worked out anew five times, and the fastest counts.
"""

import sys
import time

from tests.answers import NOW, inventory
from tests.builders import GPU_TAINT, GPU_TOLERATION, node, pod

from gpu_triage.core import objects
from gpu_triage.core.classify import classify
from gpu_triage.core.explain import message
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules

RUNS = 5
TOLERANT = [GPU_TOLERATION]
PODS = {
    "a value that no node has": pod(selector={"gpu": "A100-400GB"}),
    "two values that no node has": pod(selector={"gpu": "A100-400GB", "zone": "z9"}),
    "a taint": pod(selector={"zone": "z1"}),
    "all taken": pod(tolerations=TOLERANT),
    "more than any has": pod(gpus=16, tolerations=TOLERANT),
    "another resource name": pod(resource="nvidia.com/mig-1g.5gb", tolerations=TOLERANT),
}


def main(nodes: int) -> None:
    """Prints a row for each pod."""
    cluster = [
        node(
            f"gpu-{i:05}",
            labels={"gpu": f"A100-{i % 40}GB", "zone": f"z{i % 3}"},
            taints=[GPU_TAINT] if i % 2 or i % 3 == 1 else [],
        )
        for i in range(nodes)
    ]
    held = [pod(f"holder-{i}", 8, node=f"gpu-{i:05}") for i in range(nodes)]
    print(f"{nodes} nodes, {nodes} pods that hold 8 GPUs each; milliseconds")
    print(f"{'WAITS FOR':30}{'WORD':16}{'VERDICT':>8}{'TEXT':>8}")
    for what, raw in PODS.items():
        picture = inventory(raw, *cluster, *held).picture
        facts = pod_facts(objects.pod(raw), Rules())
        verdict, judged = fastest(lambda facts=facts, at=picture: classify(facts, at, NOW))
        _, told = fastest(lambda verdict=verdict: message(verdict, NOW))
        print(f"{what:30}{verdict.cause:16}{judged * 1000:8.0f}{told * 1000:8.0f}")


def fastest(work):
    """What a piece of work gives, and the seconds of its fastest run."""
    spent = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - begun)
    return result, min(spent)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
