"""The command as a process: what it loads, its streams, kubeconfigs that lead nowhere."""

import os
import pty
import subprocess
import sys

import pytest

from tests.e2e.laboratory import ROOT

START = "import sys; from gpu_triage.cli.main import main; main()"
LAB = ["-f", str(ROOT / "examples" / "lab.yaml")]
BASE = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "operator"), "HOME": "/nonexistent"}


def command(*arguments, before=""):
    return [sys.executable, "-W", "error", "-c", before + START, *arguments]


def cli(*arguments, env=None, before="", **options):
    return subprocess.run(
        command(*arguments, before=before),
        env={**BASE, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def loaded(*arguments):
    """The top-level packages, and our own modules, that a call imports."""
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
    done = cli(*arguments, before=report)
    assert done.returncode == 0
    modules = done.stderr.split()
    return {name.partition(".")[0] for name in modules}, {m for m in modules if "gpu_triage." in m}


OPERATOR = {"kopf", "aiohttp", "prometheus_client", "asyncio"}
HEAVY = {"kubernetes", "urllib3", "yaml", "rich", "msgspec"}


def test_help_loads_the_arguments_alone():
    packages, own = loaded("--help")
    assert "click" in packages
    assert not packages & (OPERATOR | HEAVY)
    assert own == {"gpu_triage.cli", "gpu_triage.cli.main", "gpu_triage.cli.failure"}


def test_answers_from_files_load_no_client(tmp_path):
    packages, own = loaded(*LAB, "gpu-triage", "case-taint", "-o", "text")
    assert {"msgspec", "yaml"} <= packages
    assert not packages & (OPERATOR | {"kubernetes", "urllib3", "rich"})
    assert not any(name.startswith("gpu_triage.controller") for name in own)

    snapshot = tmp_path / "pods.json"
    snapshot.write_text('{"kind": "PodList", "apiVersion": "v1", "items": []}')
    packages, _ = loaded("-f", str(snapshot))
    assert "yaml" not in packages


def test_the_exit_code_is_that_of_the_answer():
    assert cli(*LAB, "gpu-triage", "case-exhaust").returncode == 0
    assert cli(*LAB, "gpu-triage", "nobody").returncode == 1
    assert cli(*LAB, "a", "b", "c").returncode == 2
    assert cli("-f", "/nonexistent").returncode == 3


def test_a_reader_who_has_seen_enough_is_no_error():
    ends = os.pipe()
    os.close(ends[0])
    done = subprocess.run(
        command(*LAB, "--all"), env=BASE, stdout=ends[1], stderr=subprocess.PIPE, check=False
    )
    os.close(ends[1])
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_streams_are_no_error():
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command(*LAB)]
    assert subprocess.run(shell, env=BASE, check=False).returncode == 0
    shell[-2:] = ["-f", "/nonexistent"]
    assert subprocess.run(shell, env=BASE, check=False).returncode == 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_said():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*LAB), env=BASE, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr == (
        "gpu-triage: standard output: No space left on device. Not all was written.\n"
    )


def on_a_terminal(*arguments, env=None):
    """What the command writes when stdout is a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen(command(*arguments), env={**BASE, **(env or {})}, stdout=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so at the end of a terminal
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert done.wait() == 0
    return written.decode().replace("\r\n", "\n")


def test_colour_is_for_terminals_that_want_it():
    arguments = [*LAB, "gpu-triage", "case-taint", "--explain"]
    term = {"TERM": "xterm", "COLUMNS": "200"}
    plain = cli(*arguments).stdout
    assert "\033" not in plain
    coloured = on_a_terminal(*arguments, env=term)
    assert "\033[31;1mtaint\033[0m" in coloured
    assert "\033" not in on_a_terminal(*arguments, env={**term, "NO_COLOR": "1"})
    assert "\033" not in on_a_terminal(*arguments, env={"TERM": "dumb"})
    # The one word is for scripts, wherever they run.
    assert on_a_terminal(*LAB, "gpu-triage", "case-taint", env=term) == "taint\n"


def test_sentences_are_wrapped_to_the_terminal():
    wrapped = on_a_terminal(*LAB, env={"NO_COLOR": "1", "COLUMNS": "80"})
    sentences = [line for line in wrapped.splitlines() if line.startswith("    ")]
    assert len(sentences) > 5
    assert max(map(len, sentences)) <= 80


CONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"%s}}]
users: [{name: u, user: {token: x}}]
"""
BROKEN = {
    "no YAML": ("a: [", "kubeconfig {path}: while parsing a flow node"),
    "no kubeconfig": ("apiVersion: v1", "kubeconfig {path}: Invalid kube-config file."),
    "empty": ("", "kubeconfig {path}: Invalid kube-config. "),
    "a list": ("[]", "kubeconfig {path}: "),
    "no certificate": (
        CONFIG % ", certificate-authority: /nonexistent",
        "kubeconfig {path}: File does not exist: /nonexistent",
    ),
    "nobody there": (CONFIG % "", "https://127.0.0.1:1: no answer (Failed to establish"),
}


@pytest.mark.parametrize(("text", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_kubeconfig_is_one_line(text, says, tmp_path):
    path = tmp_path / "config"
    path.write_text(text)
    done = cli("pod", env={"KUBECONFIG": str(path)})
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"gpu-triage: {says.format(path=path)}")


def test_a_kubeconfig_or_context_that_is_not_there(tmp_path):
    done = cli("pod", "--kubeconfig", "/nonexistent/config")
    assert done.returncode == 3
    assert done.stderr.startswith("gpu-triage: kubeconfig /nonexistent/config: no such file.")

    path = tmp_path / "config"
    path.write_text(CONFIG % "")
    done = cli("pod", "--kubeconfig", str(path), "--context", "elsewhere")
    assert done.returncode == 3
    assert "Expected object with name elsewhere" in done.stderr

    done = cli("pod")
    assert done.returncode == 3
    assert done.stderr.startswith("gpu-triage: no cluster to ask: /nonexistent/.kube/config")
