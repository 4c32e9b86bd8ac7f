"""What is asked on the command line, checked."""

from collections.abc import Sequence

import msgspec

from gpu_triage.cli import moments
from gpu_triage.cli.failure import USAGE, AnswerError
from gpu_triage.core.rules import Rules


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    pod: str | None
    """None: a report."""
    namespace: str | None
    """None: not said."""
    all_namespaces: bool
    nodes: bool
    files: tuple[str, ...]
    output: str
    """word, text, wide, json or yaml."""
    explain: bool
    everything: bool
    now: float | None
    """Seconds since 1970; None: not said."""
    dra: str
    rules: Rules
    context: str | None
    kubeconfig: str | None


def question(
    *,
    names: Sequence[str],
    namespace: str | None,
    all_namespaces: bool,
    nodes: bool,
    files: tuple[str, ...],
    output: str | None,
    explain: bool,
    everything: bool,
    now: str | None,
    dra: str,
    resources: Sequence[str],
    context: str | None,
    kubeconfig: str | None,
) -> Question:
    """The question that arguments ask. Raises AnswerError where they do not go together."""
    if len(names) > 2:
        raise _usage(f"{len(names)} names given: NAMESPACE and POD are enough.")
    pod = _pod(names[-1]) if names else None
    if len(names) == 2:
        if namespace not in (None, names[0]):
            raise _usage(f"two namespaces given: {names[0]} and -n {namespace}.")
        namespace = names[0]
    if all_namespaces and (namespace is not None or pod is not None):
        raise _usage("-A is for a report on all namespaces: leave out -n and the pod.")
    if nodes and (pod is not None or namespace is not None or all_namespaces or everything):
        raise _usage("--nodes looks at the whole cluster: leave out pod, namespace and --all.")
    if pod is not None and everything:
        raise _usage("--all is for a report: leave out the pod.")
    if files and (context or kubeconfig):
        raise _usage("-f answers from files: leave out --context and --kubeconfig.")
    if now is not None and not files:
        raise _usage("--now is for files (-f): a cluster is judged as it is now.")
    if output == "word" and (nodes or explain):
        raise _usage(
            f"-o word says no more than words: leave out {'--nodes' if nodes else '--explain'}."
        )
    if output is None:
        output = "word" if pod is not None and not explain else "text"
    return Question(
        pod=pod,
        namespace=_namespace(namespace),
        all_namespaces=all_namespaces,
        nodes=nodes,
        files=files,
        output=output,
        explain=explain,
        everything=everything,
        now=moments.typed(now) if now is not None else None,
        dra=dra,
        rules=_rules(resources),
        context=context,
        kubeconfig=kubeconfig,
    )


def _usage(text: str) -> AnswerError:
    return AnswerError(text, USAGE)


def _pod(name: str) -> str:
    kind, slash, rest = name.rpartition("/")
    if slash and kind not in ("pod", "pods", "po"):
        raise _usage(f"{name}: give NAMESPACE and POD as two words; only pods can be asked about.")
    if not rest:
        raise _usage("the pod's name is empty.")
    return rest


def _namespace(name: str | None) -> str | None:
    if name is not None and (not name or "/" in name):
        raise _usage(f"{name!r} is no name of a namespace.")
    return name


def _rules(resources: Sequence[str]) -> Rules:
    for pattern in resources:
        if "/" not in pattern or pattern.startswith("*") or any(c in pattern for c in " ,\t"):
            raise _usage(
                f"--resource {pattern}: GPUs are named by domain and name, such as amd.com/gpu or"
                " nvidia.com/mig-*."
            )
    return Rules(resources=tuple(resources)) if resources else Rules()
