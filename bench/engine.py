"""How long the engine takes, on clusters made up here: `python -m bench.engine`.

The cluster: 5,000 nodes of 25 labels in 25 pools; three of five have 8 GPUs, nearly all held by
9,000 pods; 3,000 pods wait. Their shapes are either few (a pool and an amount) or as many as pods
(each also shuns a node of its own, so that no selector is like another). Every measurement has a
process of its own. Beside each figure stands the one that is wanted.
"""

import gc
import multiprocessing
import os
import platform
import statistics
import sys
import time

from tests import builders

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.facts import node_facts, pod_facts
from gpu_triage.core.rules import Rules

NODES = 5_000
WAITING = 3_000
POOLS = 25
HELD = (2, 3, 3)
CHANGES = 40
RULES = Rules()
NOW = objects.seconds(builders.CREATED) + 60
WANTED = {100: (2.0, 0.020), 3_000: (60.0, 1.0)}
"""Shapes: seconds from nothing, seconds for one node's change."""


def node(number, **other):
    labels = {f"example.com/label-{each}": f"value-{number % (each + 1)}" for each in range(20)}
    labels["pool"] = f"pool-{number % POOLS}"
    gpu = number % 5 < 3
    if gpu:
        labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "H100"}
    taints = [builders.GPU_TAINT] if gpu and number % 2 else []
    raw = builders.node(
        f"node-{number}", **{"gpus": 8 if gpu else None, "labels": labels, "taints": taints} | other
    )
    return node_facts(objects.node(raw), RULES)


def holder(number, place):
    short = place == 0 and number % 50 == 0  # now and then a GPU is free, and it is not enough
    raw = builders.pod(f"held-{number}-{place}", HELD[place] - short, node=f"node-{number}")
    return pod_facts(objects.pod(raw), RULES)


def waiting(number, shapes):
    shape = number % shapes
    spec = {}
    if shapes > POOLS * 4:
        term = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [f"node-{shape}"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {required: terms}}
    raw = builders.pod(
        f"waits-{number}",
        (2, 4, 8, 3)[shape // POOLS % 4],
        selector={"pool": f"pool-{shape % POOLS}"},
        tolerations=[builders.GPU_TOLERATION] if shape % 3 else [],
        **spec,
    )
    return pod_facts(objects.pod(raw), RULES)


def cluster(shapes):
    known = Inventory(RULES)
    for number in range(NODES):
        known.put_node(node(number))
        if number % 5 < 3:
            for place in range(len(HELD)):
                known.put_pod(holder(number, place))
    for number in range(WAITING):
        known.put_pod(waiting(number, shapes))
    return known


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measure(shapes, answer):
    known = cluster(shapes)
    gc.collect()
    gc.freeze()
    before = resident()
    engine = Engine(known)
    start = timed(lambda: engine.refresh(NOW))
    memory = resident() - before
    flips, frees = [], []
    for turn in range(CHANGES):
        number = turn * 5 * 7
        known.put_node(node(number, gpus=0, capacity=8))
        flips.append(timed(lambda: engine.refresh(NOW)))
        known.put_node(node(number))
        flips.append(timed(lambda: engine.refresh(NOW)))
        known.drop_pod(holder(number, 1).uid)
        frees.append(timed(lambda: engine.refresh(NOW)))
        known.put_pod(holder(number, 1))
        frees.append(timed(lambda: engine.refresh(NOW)))
    nothing = statistics.median(timed(lambda: engine.refresh(NOW)) for _ in range(CHANGES))
    words = {f"{raw.cause}/{raw.detail}" for raw in engine.words.values()}
    answer.put((start, flips, frees, nothing, memory, sorted(words)))


def main():
    print(f"`python -m bench.engine`; Python {platform.python_version()}, {platform.machine()},")
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{load}; {NODES} nodes, {WAITING} waiting.")
    print()
    header = "| shapes | from nothing | one node flips: median, worst | a GPU is bound or freed |"
    print(header, end="")
    print(" nothing new | memory |")
    print("|---|---|---|---|---|---|")
    spawn = multiprocessing.get_context("spawn")
    missed = False
    for shapes in (10, 100, 1_000, 3_000):
        answer = spawn.Queue()
        process = spawn.Process(target=measure, args=(shapes, answer))
        process.start()
        start, flips, frees, nothing, memory, words = answer.get()
        process.join()
        most_start, most_flip = WANTED.get(shapes, (float("inf"), float("inf")))
        missed |= start > most_start or statistics.median(flips) > most_flip
        wanted = f" (≤ {most_start:g} s)", f" (≤ {most_flip * 1000:g} ms)"
        wanted = wanted if shapes in WANTED else ("", "")
        print(
            f"| {shapes:,} | {start:.2f} s{wanted[0]} | {statistics.median(flips) * 1000:.1f},"
            f" {max(flips) * 1000:.1f} ms{wanted[1]} | {statistics.median(frees) * 1000:.1f},"
            f" {max(frees) * 1000:.1f} ms | {nothing * 1000:.1f} ms | {memory:.0f} MiB |",
            flush=True,
        )
    print(f"\nWords: {', '.join(words)}.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
