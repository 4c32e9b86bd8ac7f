"""How long the engine takes, on clusters made up here: `python -m bench.engine`.

The cluster: 5,000 nodes of 24 labels in 25 pools; three of five have 8 GPUs, nearly all held by
9,000 pods; 3,000 pods wait. Their shapes are either few (a pool and an amount) or as many as pods
(each also shuns a node of its own, so that no selector is like another). Every row has a process of
its own. Times are those of the clock; where others use the machine, the seconds of CPU tell more.
"""

import gc
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from functools import partial

from tests import builders

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.explain import message
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules

NODES = 5_000
WAITING = 3_000
POOLS = 25
HELD = (2, 3, 3)
CHANGES = 40
RULES = Rules()
NOW = objects.seconds(builders.CREATED) + 60
NOMINATED = 200
"""In one row: pods that others made room for, each nominated to a node of its own."""
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


def nominated(number):
    raw = builders.pod(
        f"nominated-{number}",
        2,
        selector={"pool": f"pool-{number % POOLS}"},
        tolerations=[builders.GPU_TOLERATION],
        priority=1,
        status={"nominatedNodeName": f"node-{number * 5}"},
    )
    return pod_facts(objects.pod(raw), RULES)


def cluster(shapes, nominations):
    known = Inventory(RULES)
    for number in range(NODES):
        known.put_node(node(number))
        if number % 5 < 3:
            for place in range(len(HELD)):
                known.put_pod(holder(number, place))
    for number in range(WAITING):
        known.put_pod(waiting(number, shapes))
    for number in range(nominations):
        known.put_pod(nominated(number))
    return known


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(call):
    """Milliseconds by the clock, and of the CPU."""
    begun, used = time.perf_counter(), time.process_time()
    call()
    return 1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - used)


def sentence(engine, uid):
    return message(engine.verdict(uid), NOW)


def measure(shapes, nominations, answer):
    known = cluster(shapes, nominations)
    gc.collect()
    gc.freeze()
    before = resident()
    engine = Engine(known)
    start = timed(partial(engine.refresh, NOW))
    memory = resident() - before
    refresh = partial(engine.refresh, NOW)
    flips, frees, messages = [], [], []
    for number in range(0, CHANGES * 35, 35):
        known.put_node(node(number, gpus=0, capacity=8))
        flips.append(timed(refresh))
        known.put_node(node(number))
        flips.append(timed(refresh))
        known.drop_pod(holder(number, 1).uid)
        frees.append(timed(refresh))
        known.put_pod(holder(number, 1))
        frees.append(timed(refresh))
    for pod in known.waiting()[:CHANGES]:
        messages.append(timed(partial(sentence, engine, pod.uid)))
    words = {f"{raw.cause}/{raw.detail}" for raw in engine.words.values()}
    answer.put((start, flips, frees, messages, memory, words))


def several(times):
    """The median and the worst by the clock; the median of the CPU."""
    clock, used = zip(*times, strict=True)
    return f"{statistics.median(clock):.1f}, {max(clock):.0f} ms ({statistics.median(used):.1f})"


def main():
    print(
        f"`python -m bench.engine`: Python {platform.python_version()}, {platform.machine()},"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f};"
        f" {NODES:,} nodes, {WAITING:,} pods wait.\n"
    )
    print("| shapes | nominated | from nothing (CPU) | a node flips: median, worst (CPU) |", end="")
    print(" a GPU is bound or freed | one message | memory |\n|---|---|---|---|---|---|---|")
    spawn = multiprocessing.get_context("spawn")
    missed, words = [], set()
    for shapes, nominations in ((10, 0), (100, 0), (100, NOMINATED), (1_000, 0), (3_000, 0)):
        answer = spawn.Queue()
        process = spawn.Process(target=measure, args=(shapes, nominations, answer))
        process.start()
        start, flips, frees, messages, memory, found = answer.get()
        process.join()
        words |= found
        print(
            f"| {shapes:,} | {nominations} | {start[0] / 1000:.2f} s ({start[1] / 1000:.2f}) |"
            f" {several(flips)} | {several(frees)} | {several(messages)} | {memory:.0f} MiB |",
            flush=True,
        )
        most_start, most_flip = WANTED.get(shapes, (math.inf, math.inf))
        if start[0] > 1000 * most_start:
            missed.append(f"{shapes} shapes from nothing")
        if statistics.median(clock for clock, _ in flips) > 1000 * most_flip:
            missed.append(f"a flip with {shapes} shapes")
    wanted = [
        f"{shapes:,} shapes {start:g} s from nothing and {1000 * flip:g} ms a flip"
        for shapes, (start, flip) in WANTED.items()
    ]
    print(f"\nWanted: {'; '.join(wanted)}. Missed: {', '.join(missed) or 'nothing'}.")
    print(f"The words: {', '.join(sorted(words))}.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
