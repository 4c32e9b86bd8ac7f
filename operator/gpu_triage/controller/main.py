"""The operator's process: settings, start, stop, and what its exit code says.

0: told to stop, or cleaned up. 1: a part of it has died, or something could not be cleaned up.
2: arguments or settings that cannot be used. 3: no way to the cluster.
"""

import argparse
import asyncio
import gc
import logging
import os
import sys
from collections.abc import Mapping, Sequence

from gpu_triage import __version__
from gpu_triage.controller import last_pod, logs
from gpu_triage.controller.access import Access, AccessError, find
from gpu_triage.controller.cleanup import Cleanup, CleanupError
from gpu_triage.controller.life import BAD_SETTINGS, Operator
from gpu_triage.controller.transport import Transport
from gpu_triage.settings import Settings, SettingsError, load

log = logging.getLogger("gpu_triage")

NOT_CLEAN, NO_CLUSTER = 1, 3


def main() -> None:
    """Runs until told to stop."""
    code = run(os.environ, sys.argv[1:])
    logs.let_go()
    sys.exit(code)


def run(environ: Mapping[str, str], arguments: Sequence[str] = ()) -> int:
    """Runs with the settings of an environment; returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        settings = load(environ)
    except SettingsError as error:
        for problem in error.problems:
            print(f"gpu-triage-operator: {problem}", file=sys.stderr)
        return BAD_SETTINGS
    _set_up_process(settings)
    try:
        access = find(environ, kubeconfig=settings.kubeconfig, context=settings.context)
        log.info("Started version=%s server=%s %s", __version__, access.server, settings.banner())
        if given.cleanup:
            return asyncio.run(_clean_up(settings, access, given.after))
        return asyncio.run(Operator(settings, access).run())
    except AccessError as error:
        log.error("Found no way to the cluster: %s", error)
        return NO_CLUSTER


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu-triage-operator",
        description="Says on each pod that waits for GPUs why it waits. "
        "All settings are environment variables: GPU_TRIAGE_*.",
    )
    parser.add_argument(
        "--cleanup",
        action="store_true",
        help="take the operator's annotations off every pod of the cluster, and end; "
        "for when the operator itself is gone",
    )
    parser.add_argument(
        "--after",
        type=last_pod.place,
        metavar="NAMESPACE/LABEL=VALUE,…",
        help="with --cleanup: wait first until no such pod is left, for a minute at most",
    )
    parser.add_argument("--version", action="version", version=__version__)
    return parser


async def _clean_up(settings: Settings, access: Access, after: tuple[str, str] | None) -> int:
    transport = Transport(access, f"gpu-triage/{__version__}")
    domains = (settings.annotation_domain, *settings.old_annotation_domains)
    try:
        if after is not None:
            await last_pod.wait_until_gone(transport, *after)
        await Cleanup(
            transport, domains, rate=settings.writes_per_second, burst=settings.write_burst
        ).run()
    except CleanupError as error:
        log.error("Could not clean up: %s", error)
        return NOT_CLEAN
    finally:
        await transport.close()
    return 0


def _set_up_process(settings: Settings) -> None:
    # kopf wants a name for this process, and dies where the user id has none, as in most images.
    os.environ.setdefault("POD_ID", "gpu-triage")
    logs.set_up(settings.log_level, settings.log_format)
    # The heap is large and lives long: rare collections cost less (measured at 150,000 pods).
    gc.set_threshold(10000, 50, 1000)


if __name__ == "__main__":
    main()
