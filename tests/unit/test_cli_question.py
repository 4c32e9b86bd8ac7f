"""Which arguments ask which question, and which do not go together."""

import pytest

from gpu_triage.cli.main import run

FILE = ["-f", "any"]
WRONG = {
    "three names": (["a", "b", "c"], "3 names given: NAMESPACE and POD are enough."),
    "two namespaces": (["a", "b", "-n", "c"], "two namespaces given: a and -n c."),
    "-A and -n": (["-A", "-n", "a"], "-A is for a report on all namespaces"),
    "-A and a pod": (["-A", "a"], "-A is for a report on all namespaces"),
    "--nodes and a pod": (["--nodes", "a"], "--nodes looks at the whole cluster"),
    "--nodes and -n": (["--nodes", "-n", "a"], "--nodes looks at the whole cluster"),
    "--all and a pod": (["--all", "a"], "--all is for a report"),
    "-f and --context": ([*FILE, "--context", "a"], "-f answers from files"),
    "-f and --kubeconfig": ([*FILE, "--kubeconfig", "a"], "-f answers from files"),
    "--now and a cluster": (["--now", "2026-01-01T00:00:00Z"], "--now is for files (-f)"),
    "--now is no time": ([*FILE, "--now", "noon"], "--now noon: no time as Kubernetes writes it"),
    "-o word and --explain": (["a", "-o", "word", "--explain"], "leave out --explain."),
    "-o word and --nodes": (["--nodes", "-o", "word"], "leave out --nodes."),
    "another kind": (["a", "deployment/b"], "deployment/b: give NAMESPACE and POD as two words"),
    "namespace and pod in one": (["a/b"], "a/b: give NAMESPACE and POD as two words"),
    "no name": (["a", ""], "the pod's name is empty."),
    "no namespace": (["", "a"], "'' is no name of a namespace."),
    "no domain": ([*FILE, "--resource", "gpu"], "--resource gpu: GPUs are named by domain"),
    "every resource": ([*FILE, "--resource", "*/*"], "--resource */*: GPUs are named by domain"),
    "an unknown option": (["--frobnicate"], "No such option '--frobnicate'"),
    "an unknown output": (["-o", "xml"], "'xml' is not one of 'word', 'text', 'wide'"),
}


@pytest.mark.parametrize(("arguments", "says"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, says, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("gpu-triage: ")
    assert says in err


LAB = ["-f", "examples/lab.yaml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["gpu-triage", "case-taint"],
        ["case-taint"],
        ["case-taint", "-n", "gpu-triage"],
        ["gpu-triage", "case-taint", "-n", "gpu-triage"],
        ["pod/case-taint"],
        ["gpu-triage", "pods/case-taint"],
        ["case-taint", "-o", "word"],
    ],
)
def test_ways_to_ask_for_one_word(arguments, capsys, monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    assert run([*LAB, *arguments]) == 0
    assert capsys.readouterr() == ("taint\n", "")


def test_the_version_is_printed(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gpu-triage 0.")


def test_help_names_the_command_as_it_was_called(capsys):
    assert run(["--help"], "kubectl gpu-triage") == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl gpu-triage [OPTIONS] ")


def test_resource_patterns_replace_the_default(capsys, monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    assert run([*LAB, "case-taint", "--resource", "amd.com/gpu"]) == 0
    assert capsys.readouterr().out == "no-request\n"
    both = ["--resource", "amd.com/gpu", "--resource", "nvidia.com/*"]
    assert run([*LAB, "case-taint", *both]) == 0
    assert capsys.readouterr().out == "taint\n"
