"""Logs that go nowhere: the operator goes on working, and does not spin."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.controlplane.footprint import free_port
from tests.e2e.laboratory import ROOT
from tests.unit.scripted_api import api

TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 2.0


@contextlib.contextmanager
def nowhere(kind):
    """Yield what an operator's output is connected to."""
    match kind:
        case "a full disk":
            with Path("/dev/full").open("wb") as full:
                yield full
        case "a pipe that nobody reads":
            read, write = os.pipe()
            os.close(read)
            yield write
            os.close(write)
        case "a stream that is closed":
            yield None


def command(stream):
    own = [sys.executable, "-m", "gpu_triage.controller.main"]
    return own if stream is not None else ["sh", "-c", 'exec "$0" "$@" >&- 2>&-', *own]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("a full disk", "text"),
        ("a pipe that nobody reads", "json"),
        ("a stream that is closed", "text"),
    ],
)
def test_the_operator_works_on(tmp_path, kind, form):
    port = free_port()
    with api() as scripted, nowhere(kind) as stream:
        config = {
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": scripted.url}}],
            "users": [{"name": "test", "user": {"token": "t"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config))
        process = subprocess.Popen(
            command(stream),
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT / "operator"),
                "KUBECONFIG": str(path),
                "GPU_TRIAGE_HTTP_ADDRESS": f"127.0.0.1:{port}",
                "GPU_TRIAGE_LOG_LEVEL": "debug",
                "GPU_TRIAGE_LOG_FORMAT": form,
                "GPU_TRIAGE_SETTLE_SECONDS": "0",
                "GPU_TRIAGE_FIT_SECONDS": "0",
            },
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
        try:
            until(lambda: "ok" in page(port, "readyz"), process)
            until(
                lambda: 'cause="not-gpu",detail="not-tried"} 1.0' in page(port, "metrics"), process
            )
            before = cpu(process)
            time.sleep(LOOK_SECONDS)
            assert cpu(process) - before < LOOK_SECONDS / 2
            assert page(port, "healthz") == "ok\n"
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()


def until(condition, process):
    for _ in range(600):
        with contextlib.suppress(urllib.error.URLError):
            if condition():
                return
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("never")


def page(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=30) as answer:
        return answer.read().decode()


def cpu(process):
    """Seconds of CPU so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
