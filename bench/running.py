"""Processes under measurement: the stand-in API server, the operator, kopf as it comes."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import yaml

from bench.fleet import HANGING

ROOT = Path(__file__).parents[1]
POLL_SECONDS = 0.05
SCRAPE_SECONDS = 0.5
"""Between two looks at /metrics: a scrape costs the operator what is measured."""
TICKS = os.sysconf("SC_CLK_TCK")

START = (
    "import runpy, sys; sys.modules['kubernetes'] = None; sys.argv = sys.argv[1:];"
    " runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


class Running:
    """One process, its output, and what it has cost (from /proc, so on Linux only)."""

    def __init__(self, module: str, *arguments: str, environ: dict[str, str] | None = None) -> None:
        """Start a module as the image does: without the command's ``kubernetes``.

        kopf imports it where it finds it, which is 0.6 s of CPU and 20 MiB.
        """
        self._out = tempfile.TemporaryFile("w+b")  # noqa: SIM115 — it lives as long as this object
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, module, *arguments],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": f"{ROOT / 'operator'}:{ROOT}",
                **(environ or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
        )

    def output(self) -> str:
        """All that it has printed."""
        size = os.fstat(self._out.fileno()).st_size
        return os.pread(self._out.fileno(), size, 0).decode()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self) -> float:
        """MiB that it had at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def until(
        self, condition: Callable[[], object], within: float, pause: float = POLL_SECONDS
    ) -> float | None:
        """Seconds from its start until a condition holds; None where it does not in time."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"it has ended: {self.output()[-2000:]}")
            try:
                if condition():
                    return time.monotonic() - self.begun
            except (urllib.error.URLError, OSError, LookupError):
                pass  # not yet
            time.sleep(pause)
        return None

    def end(self) -> None:
        """End it, and wait until it has."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Operator(Running):
    """gpu-triage-operator against the stand-in."""

    def __init__(self, server: str, folder: Path, **settings: str) -> None:
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig(server)))
        given = {"http_address": "127.0.0.1:0", "node_starting_seconds": "0", **settings}
        super().__init__(
            "gpu_triage.controller.main",
            environ={
                "KUBECONFIG": str(path),
                **{f"GPU_TRIAGE_{name.upper()}": value for name, value in given.items()},
            },
        )

    def metrics(self) -> str:
        """All of /metrics."""
        return self.page("metrics")

    def page(self, name: str) -> str:
        """One of the pages that it serves."""
        address = re.findall(r"Serving .* address=(\S+)", self.output())[-1]
        with urllib.request.urlopen(f"http://{address}/{name}", timeout=60) as answer:
            return answer.read().decode()

    def sample(self, line: str) -> float:
        """One sample, by its name and labels as they are written."""
        return float(re.findall(rf"^{re.escape(line)} (\S+)$", self.metrics(), re.MULTILINE)[0])

    def has_read(self) -> bool:
        """Whether every kind has been read."""
        return "Everything has been read" in self.output()

    def pending(self) -> float:
        """How many waiting pods have a word."""
        return sum(
            map(float, re.findall(r"^gpu_triage_pending_pods{.*} (\S+)$", self.metrics(), re.M))
        )


@contextmanager
def stand_in(pods: int, nodes: int, *, waiting: bool = True, hanging: int = HANGING):
    """Yield the process of the stand-in API server and its address."""
    server = Running(
        "bench.api_server",
        str(pods),
        str(nodes),
        f"--hanging={hanging}",
        *([] if waiting else ["--no-waiting"]),
    )
    try:
        if server.until(lambda: server.output().startswith("http"), 60) is None:
            raise RuntimeError("the stand-in does not start")
        yield server, server.output().split()[0]
    finally:
        server.end()


def post(url: str) -> None:
    """Tell the stand-in to do something."""
    request = urllib.request.Request(url, method="POST")
    with urllib.request.urlopen(request, timeout=30):
        pass


def writes(url: str) -> dict[str, int]:
    """How many writes the stand-in has taken, by method."""
    with urllib.request.urlopen(f"{url}/control/writes", timeout=30) as answer:
        return json.load(answer)


def kubeconfig(server: str) -> dict[str, object]:
    """What leads to the stand-in."""
    return {
        "current-context": "load",
        "clusters": [{"name": "load", "cluster": {"server": server}}],
        "users": [{"name": "load", "user": {"token": "none"}}],
        "contexts": [{"name": "load", "context": {"cluster": "load", "user": "load"}}],
    }
