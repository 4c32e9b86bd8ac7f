"""Churn and trouble side by side for a while; then quiet, and whether all is as it should be."""

import random
import re
import threading
import time
from collections import Counter
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec

from tests.e2e import laboratory
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.operator_process import (
    ACCOUNT,
    NAMESPACE,
    OperatorProcess,
    give_rights,
    take_rights,
)
from tests.e2e.same_words import differences, said, truth, wait_until_right
from tests.soak.admin import Admin, Onlooker
from tests.soak.churn import churning
from tests.soak.trouble import Trouble
from tests.witness import Witness

STEP_SECONDS, STRIKE_SECONDS = 0.5, 5.0
"""Means of the pauses between two changes of the cluster, and between two faults."""
STALE_SECONDS = 6
KILLS_END, WARM = 0.3, 0.4
"""Parts of the time: from the first on nobody kills it; at the second its memory is read."""
SETTINGS = {
    "node_starting_seconds": 0,
    "settle_seconds": 0.2,
    "fit_seconds": 1,
    "restless_seconds": 2,
    "event_gap_seconds": 5,
    "stale_seconds": STALE_SECONDS,
}
"""The times are short, so that much happens."""
ENOUGH_SECONDS = 120.0
LAST_LINES = 40
"""Of its log, where it has ended by itself."""


class Outcome(msgspec.Struct):
    """What a soak has shown."""

    seed: int
    minutes: float
    changes: int
    faults: dict[str, int]
    lives: int
    published: dict[str, int]
    words: Counter[str]
    """From one word to the next: how often."""
    events: Counter[str]
    """Made, by type and reason."""
    wrong: list[str]
    """Differences from the classifier at the end, untrue Events, bad lines in the log."""
    memory: tuple[float, float]
    """MiB of its last life: once it was warm, and at the end."""


def soak(cluster, folder, *, minutes, seed, tell=lambda line: None):
    """Let so many minutes pass; return the Outcome.

    Args:
        cluster: an own control plane, alive.
        folder: for the operator's kubeconfig and log.
        minutes: of churn.
        seed: of all chance.
        tell: called with a line now and then.
    """
    chance = random.Random(seed)
    witness = Witness()
    with (
        operator_behind_a_proxy(cluster, folder) as (operator, proxy),
        Admin(cluster) as admin,
        churning(admin, random.Random(chance.random())) as churn,
    ):
        trouble = Trouble(proxy, operator, random.Random(chance.random()), STALE_SECONDS)
        with Onlooker(cluster, witness) as onlooker:
            memory = _run(churn, trouble, operator, minutes * 60, chance.random(), tell)
            tell("the cluster rests; waiting until all is right")
            wrong = _judge(cluster, operator, witness, onlooker)
        after = rss(operator)
        lives = operator.log.read_text().count("Started version=")
        code = operator.stop()
        wrong += [f"it ended with exit code {code}"] if code else []
        wrong += bad_lines(operator)
    return Outcome(
        seed,
        minutes,
        churn.done,
        dict(sorted(trouble.seen.items())),
        lives,
        {**witness.changes(), "series": witness.series},
        _transitions(witness),
        Counter(f"{each['type']} {each['reason']}" for each in witness.events),
        wrong,
        (memory, after),
    )


@contextmanager
def operator_behind_a_proxy(cluster, folder, **settings):
    """Yield the operator, ready, and the proxy through which it sees the cluster."""
    give_rights(cluster)
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE, "--duration=2h").strip()
    with FaultProxy(cluster) as proxy:
        kubeconfig = laboratory.write_kubeconfig(
            cluster, token, Path(folder) / "kubeconfig", server=proxy.url
        )
        with OperatorProcess(kubeconfig, folder, **SETTINGS, **settings) as operator:
            operator.wait_ready()
            yield operator, proxy
    take_rights(cluster)


def rss(operator):
    """MiB that the operator has in memory."""
    status = Path(f"/proc/{operator.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


def bad_lines(operator):
    """Lines of its log that no fault of others excuses."""
    return [
        f"in the log: {line}"
        for line in operator.log.read_text().splitlines()
        if "Traceback" in line or " ERROR " in line
    ]


def _run(churn, trouble, operator, seconds, seed, tell):
    """Let it all happen; return the operator's memory once it lived without being killed."""
    chance, failed, memory = random.Random(seed), [], None
    begun = time.monotonic()

    def change():
        steps = random.Random(seed + 1)
        try:
            while time.monotonic() - begun < seconds and not failed:
                churn.step()
                time.sleep(steps.expovariate(1 / STEP_SECONDS))
        except BaseException as error:
            failed.append(error)

    changing = threading.Thread(target=change)
    changing.start()
    while (passed := time.monotonic() - begun) < seconds and not failed:
        time.sleep(chance.expovariate(1 / STRIKE_SECONDS))
        name = trouble.strike(kill=passed < seconds * KILLS_END)
        tell(f"{passed:6.0f} s  {churn.done:5} changes  {name}")
        if operator.process.poll() is not None:
            failed.append(AssertionError(_ended(operator)))
        elif memory is None and passed >= seconds * WARM:
            operator.wait_ready()
            memory = rss(operator)
    changing.join()
    if failed:
        raise failed[0]
    assert memory is not None  # the last fault comes after the last kill
    return memory


def _ended(operator):
    last = "\n".join(operator.log.read_text().splitlines()[-LAST_LINES:])
    return f"the operator has ended by itself, with exit code {operator.process.poll()}:\n{last}"


def _judge(cluster, operator, witness, onlooker):
    """What is wrong once the cluster rests."""
    found = []
    try:
        wait_until_right(cluster, operator, ENOUGH_SECONDS)
        # The last writes are seen a moment after they were made.
        laboratory.wait_for("Events agree", lambda: not witness.wrong(), 10)
    except AssertionError:
        found += differences(said(operator), *truth(cluster))
        found += witness.wrong()
    if not found and operator.metric("gpu_triage_write_queue"):
        found.append("something still waits to be written")
    return found + [f"the onlooker has missed something: {each}" for each in onlooker.broken]


def _transitions(witness):
    counts = Counter()
    for seen in witness.stood.values():
        for before, now in pairwise(seen):
            old, new = (each.get("cause", "none") for each in (before, now))
            if old != new:
                counts[f"{old} → {new}"] += 1
    return counts
