"""What the operator costs on a large cluster: `python -m bench.load [--help]`.

Runs it as a process of its own against a stand-in for the API server (bench/api_server.py) and
prints tables of what was measured beside what is wanted. All traffic stays on 127.0.0.1.
"""

import argparse
import importlib.metadata
import os
import platform
import tempfile
import threading
import time
from pathlib import Path

from bench.fleet import HANGING, WAITING_SHARE
from bench.running import SCRAPE_SECONDS, Operator, Running, post, stand_in, writes

GROWTH = (1_000, 5_000, 20_000, 50_000, 150_000)
PODS_PER_NODE = 30
RATE, STEADY_SECONDS = 500, 30.0
TURNOVER = 3
"""As many of 9,000 pods as end each second where one runs for 50 minutes."""
QUIET_SECONDS = 5.0
FLIPS, SCRAPES = 20, 20
PROBE_SECONDS = 0.2
CORDONED = 'gpu_triage_pending_pods{cause="taint",detail="cordoned"}'


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--within", type=float, default=120, help="seconds that a row may take")
    parser.add_argument("--sizes", type=_sizes, help="pods of each reading: 1000,5000")
    parser.add_argument("--growth", action="store_true", help="--sizes of 1,000 to 150,000 pods")
    parser.add_argument("--no-lean", action="store_true", help="without the filter as well")
    parser.add_argument("--stock", action="store_true", help="kopf as it comes as well")
    parser.add_argument("--no-figures", action="store_true", help="without the table of figures")
    given = parser.parse_args()
    print(f"{machine()}\n")
    if not given.no_figures:
        table(("what", "measured", "wanted"), figures(given.pods, given.nodes, given.within))
    ways = [
        "lean",
        *(["all pods"] if given.no_lean else []),
        *(["stock kopf"] if given.stock else []),
    ]
    sizes = GROWTH if given.growth else given.sizes or (given.pods,)
    if given.growth or given.sizes or len(ways) > 1:
        rows = (
            reading(way, pods, min(given.nodes, max(1, pods // PODS_PER_NODE)), given.within)
            for pods in sizes
            for way in ways
        )
        head = ("pods", "nodes", "way", "until read", "CPU", "peak RSS", f"CPU at {RATE} events/s")
        table(head, rows)


def figures(pods: int, nodes: int, within: float):
    """The rows of the table of figures."""
    with stand_in(pods, nodes) as (_, server), tempfile.TemporaryDirectory() as folder:
        waiting = int(pods * WAITING_SHARE)
        # How long words must last says nothing about speed.
        at_once = dict.fromkeys(("settle_seconds", "fit_seconds", "restless_seconds"), "0")
        operator = Operator(server, Path(folder), **at_once)
        try:
            answers = Probes(operator)
            read = operator.until(operator.has_read, within)
            yield "start → everything read", seconds(read), ""
            yield "… CPU of the operator until then", seconds(operator.cpu()), ""
            words = operator.until(lambda: operator.pending() == waiting, within, SCRAPE_SECONDS)
            yield (
                f"start → {waiting:,} words",
                seconds(words),
                "≤ 15 s of client time",
            )
            yield "… CPU of the operator until then", seconds(operator.cpu()), "≤ 15 s"
            yield "peak RSS until then", f"{operator.peak():.0f} MiB", "≤ 192 MiB"
            longest = answers.end()
            yield "longest answer of /healthz until then", millis(longest), "≤ 1,000 ms, a probe"
            if words is None:
                return
            yield f"/metrics, longest of {SCRAPES}", millis(scrapes(operator)), "≤ 100 ms"
            # The queue alone says little: it is empty now and then while messages are worked out.
            drained = operator.until(lambda: writes(server)["PATCH"] >= waiting, 2 * within)
            yield "start → every word written", seconds(drained), ""
            yield (
                f"longest of {FLIPS} flips of a node → words right",
                millis(flips(operator, server, waiting, within)),
                "≤ 100 ms",
            )
            quiet(server, within)
            yield (
                f"CPU at {RATE} pod events/s",
                percent(steady(operator, server)),
                "≤ 5 % of a core",
            )
            yield (
                f"… of which {TURNOVER} free GPUs and {TURNOVER} take some",
                percent(steady(operator, server, TURNOVER)),
                "",
            )
            yield "peak RSS at the end", f"{operator.peak():.0f} MiB", "≤ 192 MiB"
        finally:
            operator.end()


def reading(way: str, pods: int, nodes: int, within: float):
    """A row about the way from the API server to the handlers alone: no pod waits."""
    with (
        stand_in(pods, nodes, waiting=False) as (_, server),
        tempfile.TemporaryDirectory() as folder,
    ):
        if way == "stock kopf":
            run = Running("bench.stock_kopf", server, str(pods), str(nodes))
            took = run.until(lambda: "Everything has been handled" in run.output(), within)
        else:
            run = Operator(server, Path(folder), lean="true" if way == "lean" else "false")
            took = run.until(run.has_read, within)
        try:
            cpu, peak = run.cpu(), run.peak()
            busy = percent(steady(run, server)) if took is not None else ""
            return (
                f"{pods:,}",
                f"{nodes:,}",
                way,
                seconds(took),
                seconds(cpu),
                f"{peak:.0f} MiB",
                busy,
            )
        finally:
            run.end()


def quiet(server: str, within: float) -> None:
    """Wait until all has been written: annotations first, then their Events."""
    deadline, before = time.monotonic() + within, None
    while (now := writes(server)) != before and time.monotonic() < deadline:
        before = now
        time.sleep(QUIET_SECONDS)


def steady(run: Running, server: str, turnover: int = 0) -> float:
    """The part of a core that it takes while pods change."""
    time.sleep(2)
    asked = f"rate={RATE}&seconds={STEADY_SECONDS + 2}&turnover={turnover}"
    post(f"{server}/control/events?{asked}")
    time.sleep(1)
    before, begun = run.cpu(), time.monotonic()
    time.sleep(STEADY_SECONDS)
    return (run.cpu() - before) / (time.monotonic() - begun)


def flips(operator: Operator, server: str, waiting: int, within: float) -> float | None:
    """The longest time from a change of a node to the metrics that show it, a scrape included."""
    longest = 0.0
    for number in range(FLIPS):
        begun, wanted = time.monotonic(), 0 if number % 2 else min(HANGING, waiting)
        post(f"{server}/control/flip")
        while operator.sample(CORDONED) != wanted:
            if time.monotonic() - begun > within:
                return None
            time.sleep(0.01)
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.5)
    return longest


class Probes:
    """Asks for /healthz again and again, as a kubelet would, only oftener."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._longest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def end(self) -> float:
        """The longest time that an answer took."""
        self._ended.set()
        self._thread.join()
        return self._longest

    def _ask(self) -> None:
        while not self._ended.wait(PROBE_SECONDS):
            begun = time.monotonic()
            try:
                self._operator.page("healthz")
            except (OSError, LookupError):
                continue  # it does not serve yet
            self._longest = max(self._longest, time.monotonic() - begun)


def scrapes(operator: Operator) -> float:
    """The longest time of a scrape."""
    longest = 0.0
    for _ in range(SCRAPES):
        begun = time.monotonic()
        operator.metrics()
        longest = max(longest, time.monotonic() - begun)
    return longest


def machine() -> str:
    """Where all this was measured, in one line."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("kopf", "aiohttp", "msgspec")
    )
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{len(os.sched_getaffinity(0))} cores of {model}, load {load}; "
        f"Python {platform.python_version()}, {versions}; {time.strftime('%Y-%m-%d')}"
    )


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def table(head, rows) -> None:
    """Print a table of Markdown, each row as soon as it is known."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def seconds(value: float | None) -> str:
    return "not in time" if value is None else f"{value:.1f} s"


def millis(value: float | None) -> str:
    return "not in time" if value is None else f"{value * 1000:.0f} ms"


def percent(value: float) -> str:
    return f"{value * 100:.1f} %"


if __name__ == "__main__":
    main()
