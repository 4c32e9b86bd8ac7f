"""The command: its arguments, and the code that it exits with."""

import sys
from pathlib import Path
from typing import Any

import click

from gpu_triage import __version__
from gpu_triage.cli.failure import UNREADABLE, USAGE, AnswerError

PLUGIN = "kubectl-gpu_triage"
EPILOG = """\b
Examples:
  {prog} training case-7                one word
  {prog} training case-7 -o text        the sentence, the nodes, the next step
  {prog} -A                             every pod that waits for a GPU
  {prog} --nodes                        who holds which GPU
  kubectl get pods,nodes -A -o yaml | {prog} -f -

\b
Exit codes: 0 answered; 1 no such pod or namespace; 2 wrong usage; 3 cluster or file not readable.
"""


@click.command(
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Say in one word why a pod that asks for GPUs is not running.

    With NAMESPACE and POD (or POD and -n): one word. Without a pod: every pod of the namespace
    that asks for a GPU and is not placed. Nothing is ever written.""",
)
@click.argument("names", nargs=-1, metavar="[[NAMESPACE] POD]")
@click.option("-n", "--namespace", metavar="NAMESPACE", help="Default: the context's.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Report on all namespaces.")
@click.option("--nodes", is_flag=True, help="Show every GPU node: amounts, taints, who holds what.")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="PATH",
    help="Answer from a file, folder or - (stdin): JSON, YAML, lists, dumps. Repeatable. Without"
    " -n: every namespace in them.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["word", "text", "wide", "json", "yaml"]),
    help="Default: word for one pod, else text.",
)
@click.option("--explain", is_flag=True, help="Add every node's own verdict; alone: -o text.")
@click.option("--all", "everything", is_flag=True, help="Report on placed pods and others too.")
@click.option(
    "--now",
    metavar="TIME",
    help="With -f: judge as of then, such as 2026-01-31T12:00:00Z. Default: the newest time in the"
    " files.",
)
@click.option(
    "--dra",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="DeviceClasses: as far as readable, needed, or not asked for.",
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="PATTERN",
    help="What counts as a GPU, such as amd.com/gpu or nvidia.com/*. Repeatable; replaces the"
    " default.",
)
@click.option("--context", metavar="NAME", help="The kubeconfig's context.")
@click.option("--kubeconfig", metavar="PATH", help="The kubeconfig file.")
@click.version_option(__version__, prog_name="gpu-triage", message="%(prog)s %(version)s")
def command(**options: Any) -> None:
    """Answers; what it is for stands in its help."""
    from gpu_triage.cli.answer import answer  # noqa: PLC0415  (--help needs none of it)
    from gpu_triage.cli.question import question  # noqa: PLC0415

    answer(question(**options))


def main() -> None:
    """Runs the command and exits: 0 answered, 1 not there, 2 usage, 3 not readable."""
    plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    prog = "kubectl gpu-triage" if plugin else "gpu-triage"
    command.epilog = EPILOG.format(prog=prog)
    sys.exit(run(sys.argv[1:], prog))


def run(arguments: list[str], prog: str = "gpu-triage") -> int:
    """The exit code of a call; what it says is written to stdout and stderr."""
    try:
        command.main(arguments, prog_name=prog, standalone_mode=False)
        return 0
    except AnswerError as failure:
        _say(str(failure))
        return failure.code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        _say(f"{error.format_message()} See {prog} --help.")
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        return 130
    except RecursionError:
        _say("the input is nested too deeply to be read.")
    except OSError as error:
        _say(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
    except Exception as error:  # a traceback helps nobody at night
        _say(
            f"this is an error in gpu-triage {__version__} itself:"
            f" {type(error).__name__}: {' '.join(str(error).split())}. Please report it."
        )
    return UNREADABLE


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write("".join(f"gpu-triage: {line}\n" for line in text.splitlines()))
